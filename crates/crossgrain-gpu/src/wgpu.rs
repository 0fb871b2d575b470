//! GPUs through Vulkan, Metal or Direct3D 12. Programs are WGSL.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossgrain::engine::block::{BLOCK_BYTES, Family};
use crossgrain::engine::circuit::emit::Language;
use crossgrain::engine::device::{Kernel, Listing, Task};
use pollster::block_on;
use wgpu::{
    Adapter, Backends, BindGroupDescriptor, BindGroupEntry, Buffer, BufferDescriptor, BufferUsages,
    CommandEncoder, ComputePassDescriptor, ComputePassTimestampWrites, ComputePipeline,
    ComputePipelineDescriptor, DeviceDescriptor, DeviceType, ErrorFilter, Features, Instance,
    InstanceDescriptor, MapMode, PollType, QuerySetDescriptor, QueryType, ShaderModuleDescriptor,
    ShaderSource,
};

use super::gpu::{STATE_WORDS_MAX, bytes_of};
use super::{Compiled, Device, Error, Info, Job, Memory};

/// The message if no device is found.
const NONE: &str = "no Vulkan, Metal or Direct3D 12 device was found: install a GPU's driver and the Vulkan loader \
                    (on Debian libvulkan1, and mesa-vulkan-drivers for one in software)";

const SERPENT: Kernel = Kernel::gates(Family::Serpent, Task::Encrypt);

/// Maximum number of groups per run. They are enough for a second of work.
const GROUPS_MAX: usize = 1 << 20;

/// Size of two timestamps in bytes.
const STAMPS_BYTES: u64 = 16;

/// Size of a program's state buffer, which is a uniform buffer, in bytes.
const KEY_BYTES: u64 = 4 * STATE_WORDS_MAX as u64;

/// A wgpu device.
pub struct WgpuDevice {
    device: wgpu::Device,
    queue: wgpu::Queue,
    info: Info,
    /// The most groups in a row.
    row_groups: u32,
    /// The first asynchronous error.
    trouble: Arc<Mutex<Option<Error>>>,
}

/// A compiled program.
pub struct Program {
    pipeline: ComputePipeline,
    keys: Buffer,
    job: Buffer,
    group_threads: u32,
    /// Which of its four bindings the program uses: source, goal, state, job.
    bound: [bool; 4],
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Program(secret)")
    }
}

impl fmt::Debug for WgpuDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WgpuDevice({})", self.info.name)
    }
}

fn adapters() -> Vec<Adapter> {
    let mut wanted = InstanceDescriptor::new_without_display_handle();
    wanted.backends = Backends::PRIMARY;
    block_on(Instance::new(wanted).enumerate_adapters(Backends::PRIMARY))
}

/// Lists the devices.
///
/// # Errors
/// If no device is found.
pub fn devices() -> Result<Vec<Info>, Error> {
    let found: Vec<_> =
        adapters().iter().enumerate().map(|(number, adapter)| info(number, adapter)).collect();
    if found.is_empty() { Err(Error::NoDevice(NONE.to_owned())) } else { Ok(found) }
}

fn info(number: usize, adapter: &Adapter) -> Info {
    let (info, limits) = (adapter.get_info(), adapter.limits());
    let bytes = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
    let row_groups = limits.max_compute_workgroups_per_dimension as usize;
    let groups = row_groups.saturating_mul(row_groups).min(GROUPS_MAX);
    // A thread of Serpent encrypts one block.
    let threads = groups as u64 * u64::from(SERPENT.group_threads(Language::Wgsl));
    let blocks = (bytes / BLOCK_BYTES as u64).min(threads).min(1 << 24);
    Info {
        id: format!("wgpu:{number}"),
        name: info.name,
        driver: format!("{} {} {}", info.backend, info.driver, info.driver_info).trim_end().to_owned(),
        is_software: info.device_type == DeviceType::Cpu,
        max_blocks: blocks as usize,
        max_groups: groups,
        max_group_threads: limits
            .max_compute_invocations_per_workgroup
            .min(limits.max_compute_workgroup_size_x),
        shared_bytes: limits.max_compute_workgroup_storage_size as usize,
        units: None,
    }
}

impl WgpuDevice {
    /// Opens the device with this number.
    ///
    /// # Errors
    /// If it does not exist or cannot be opened.
    pub fn open(number: usize) -> Result<Self, Error> {
        let mut adapters = adapters();
        if adapters.is_empty() {
            return Err(Error::NoDevice(NONE.to_owned()));
        }
        if number >= adapters.len() {
            let told = format!("there is no device wgpu:{number}: the last is wgpu:{}", adapters.len() - 1);
            return Err(Error::NoDevice(told));
        }
        let adapter = adapters.swap_remove(number);
        let most = adapter.limits().max_uniform_buffer_binding_size;
        if most < KEY_BYTES {
            let told =
                format!("wgpu:{number} lets programs have {most} bytes of keys; they need {KEY_BYTES}");
            return Err(Error::NoDevice(told));
        }
        let wanted = DeviceDescriptor {
            required_features: adapter.features() & Features::TIMESTAMP_QUERY,
            required_limits: adapter.limits(),
            ..DeviceDescriptor::default()
        };
        let (device, queue) =
            block_on(adapter.request_device(&wanted)).map_err(|error| Error::NoDevice(error.to_string()))?;
        let trouble = Arc::new(Mutex::new(None));
        let [lost, failed] = [trouble.clone(), trouble.clone()];
        device.set_device_lost_callback(move |_, told| note(&lost, Error::Lost(told)));
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            note(&failed, Error::Lost(error.to_string()))
        }));
        let row_groups = adapter.limits().max_compute_workgroups_per_dimension;
        Ok(Self { device, queue, info: info(number, &adapter), row_groups, trouble })
    }

    /// Fails if an asynchronous error has occurred.
    fn sound(&self) -> Result<(), Error> {
        match &*self.trouble.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    fn buffer(&self, len_bytes: u64, usage: BufferUsages) -> Result<Buffer, Error> {
        self.sound()?;
        let [memory, other] = [ErrorFilter::OutOfMemory, ErrorFilter::Validation]
            .map(|filter| self.device.push_error_scope(filter));
        let descriptor = BufferDescriptor { label: None, size: len_bytes, usage, mapped_at_creation: false };
        let buffer = self.device.create_buffer(&descriptor);
        let errors = [block_on(other.pop()), block_on(memory.pop())];
        self.sound()?;
        if errors.iter().any(Option::is_some) {
            return Err(Error::Memory { len_bytes: len_bytes as usize });
        }
        Ok(buffer)
    }

    fn encoder(&self) -> CommandEncoder {
        self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
    }

    /// Submits commands and waits for them.
    fn finish(&self, encoder: CommandEncoder) -> Result<(), Error> {
        self.queue.submit([encoder.finish()]);
        self.wait()
    }

    fn wait(&self) -> Result<(), Error> {
        self.device.poll(PollType::wait_indefinitely()).map_err(|error| Error::Lost(error.to_string()))?;
        self.sound()
    }

    /// Maps the start of a buffer that the host may read, and calls `take` with it.
    fn read(&self, buffer: &Buffer, len_bytes: u64, take: impl FnOnce(&[u8])) -> Result<(), Error> {
        let mapped = Arc::new(Mutex::new(None));
        let note = mapped.clone();
        buffer.map_async(MapMode::Read, ..len_bytes, move |done| {
            *note.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        });
        self.wait()?;
        let done = mapped.lock().unwrap_or_else(PoisonError::into_inner).take();
        if !matches!(done, Some(Ok(()))) {
            return Err(Error::Lost("its memory cannot be read".to_owned()));
        }
        let view = buffer.get_mapped_range(..len_bytes).map_err(|error| Error::Lost(error.to_string()))?;
        take(&view);
        drop(view);
        buffer.unmap();
        Ok(())
    }

    /// Submits pending writes. Otherwise they would wait for the next commands, which may never follow
    /// zeros that overwrite a secret.
    fn begin_writing(&self) {
        self.queue.submit([]);
    }

    /// Queues a write of words to a buffer. It takes effect before the next commands.
    fn write_words(&self, buffer: &Buffer, words: &[u32]) {
        self.queue.write_buffer(buffer, 0, &bytes_of(words));
    }
}

fn note(trouble: &Mutex<Option<Error>>, error: Error) {
    trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
}

impl Device for WgpuDevice {
    fn info(&self) -> &Info {
        &self.info
    }

    fn language(&self) -> Language {
        Language::Wgsl
    }

    fn allocate(&self, len_bytes: usize) -> Result<Memory, Error> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        Ok(Box::new(self.buffer(len_bytes as u64, usage)?))
    }

    fn upload(&self, bytes: &[u8], to: &mut Memory) -> Result<(), Error> {
        let to = own::<Buffer>(&**to)?;
        let whole = bytes.len() - bytes.len() % 4;
        self.queue.write_buffer(to, 0, &bytes[..whole]);
        if whole < bytes.len() {
            // Writes must be multiples of four bytes, so the last word is padded.
            let mut last = [0; 4];
            last[..bytes.len() - whole].copy_from_slice(&bytes[whole..]);
            self.queue.write_buffer(to, whole as u64, &last);
        }
        self.begin_writing();
        self.sound()
    }

    fn download(&self, from: &Memory, bytes: &mut [u8]) -> Result<(), Error> {
        let len_bytes = bytes.len().next_multiple_of(4) as u64;
        let copy = self.buffer(len_bytes, BufferUsages::MAP_READ | BufferUsages::COPY_DST)?;
        let mut encoder = self.encoder();
        encoder.copy_buffer_to_buffer(own(&**from)?, 0, &copy, 0, len_bytes);
        self.finish(encoder)?;
        self.read(&copy, len_bytes, |read| bytes.copy_from_slice(&read[..bytes.len()]))
    }

    fn compile(&self, listing: &Listing) -> Result<Compiled, Error> {
        self.sound()?;
        let refused = [ErrorFilter::Internal, ErrorFilter::Validation]
            .map(|filter| self.device.push_error_scope(filter));
        let Listing { ref entry, ref text, group_threads, reads_source, reads_keys, .. } = *listing;
        let source = ShaderSource::Wgsl(text.into());
        let module = self.device.create_shader_module(ShaderModuleDescriptor { label: Some(entry), source });
        let pipeline = self.device.create_compute_pipeline(&ComputePipelineDescriptor {
            label: Some(entry),
            layout: None,
            module: &module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        for scope in refused.into_iter().rev() {
            if let Some(error) = block_on(scope.pop()) {
                return Err(Error::Program(error.to_string()));
            }
        }
        let usage = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
        let [keys, job] = [KEY_BYTES, 32].map(|len_bytes| self.buffer(len_bytes, usage));
        let bound = [reads_source, true, reads_keys, true];
        Ok(Box::new(Program { pipeline, keys: keys?, job: job?, group_threads, bound }))
    }

    fn set_state(&self, program: &mut Compiled, words: &[u32]) -> Result<(), Error> {
        self.write_words(&own::<Program>(&**program)?.keys, words);
        self.begin_writing();
        self.sound()
    }

    unsafe fn run(
        &self,
        program: &Compiled,
        job: &Job,
        source: &Memory,
        goal: &mut Memory,
    ) -> Result<Duration, Error> {
        self.sound()?;
        let program: &Program = own(&**program)?;
        self.write_words(&program.job, &job.words);
        let buffers = [own(&**source)?, own(&**goal)?, &program.keys, &program.job];
        let entries: Vec<_> = (0..)
            .zip(buffers)
            .zip(program.bound)
            // The layout contains only bindings that the program uses.
            .filter(|(_, is_bound)| *is_bound)
            .map(|((binding, buffer), _)| BindGroupEntry { binding, resource: buffer.as_entire_binding() })
            .collect();
        let layout = program.pipeline.get_bind_group_layout(0);
        let group = self.device.create_bind_group(&BindGroupDescriptor {
            label: None,
            layout: &layout,
            entries: &entries,
        });
        let stamps = Stamps::new(self)?;
        let mut encoder = self.encoder();
        let timestamp_writes = stamps.as_ref().map(|stamps| ComputePassTimestampWrites {
            query_set: &stamps.set,
            beginning_of_pass_write_index: Some(0),
            end_of_pass_write_index: Some(1),
        });
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor { label: None, timestamp_writes });
        pass.set_pipeline(&program.pipeline);
        pass.set_bind_group(0, &group, &[]);
        let groups = job.threads.div_ceil(program.group_threads);
        let rows = groups.div_ceil(self.row_groups).max(1);
        pass.dispatch_workgroups(groups.div_ceil(rows), rows, 1);
        drop(pass);
        if let Some(stamps) = &stamps {
            stamps.resolve(&mut encoder);
        }
        let start = Instant::now();
        self.finish(encoder)?;
        match stamps {
            Some(stamps) => stamps.duration(self),
            None => Ok(start.elapsed()),
        }
    }
}

/// Downcasts a memory or program to this backend's type.
fn own<T: 'static>(held: &(dyn Any + Send + Sync)) -> Result<&T, Error> {
    held.downcast_ref().ok_or(Error::Place)
}

/// Timestamps of the device's clock at the beginning and end of a pass.
struct Stamps {
    set: wgpu::QuerySet,
    resolved: Buffer,
    read: Buffer,
}

impl Stamps {
    /// `None` if the device's clock cannot be read.
    fn new(device: &WgpuDevice) -> Result<Option<Self>, Error> {
        if !device.device.features().contains(Features::TIMESTAMP_QUERY) {
            return Ok(None);
        }
        let descriptor = QuerySetDescriptor { label: None, ty: QueryType::Timestamp, count: 2 };
        Ok(Some(Self {
            set: device.device.create_query_set(&descriptor),
            resolved: device.buffer(STAMPS_BYTES, BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC)?,
            read: device.buffer(STAMPS_BYTES, BufferUsages::MAP_READ | BufferUsages::COPY_DST)?,
        }))
    }

    fn resolve(&self, encoder: &mut CommandEncoder) {
        encoder.resolve_query_set(&self.set, 0..2, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.read, 0, STAMPS_BYTES);
    }

    fn duration(&self, device: &WgpuDevice) -> Result<Duration, Error> {
        let mut stamps = [0; 2];
        device.read(&self.read, STAMPS_BYTES, |bytes| {
            for (stamp, bytes) in stamps.iter_mut().zip(bytes.as_chunks::<8>().0) {
                *stamp = u64::from_le_bytes(*bytes);
            }
        })?;
        let ticks = stamps[1].saturating_sub(stamps[0]);
        let time_ns = ticks as f64 * f64::from(device.queue.get_timestamp_period());
        Ok(Duration::from_nanos(time_ns as u64))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use crossgrain::engine::device::ALL;
    use crossgrain::{Cipher as CipherName, Key};

    use super::*;
    use crate::{Cipher, Gpu};

    #[test]
    fn a_lost_device_is_told_by_whatever_is_tried_next() {
        let (opened, device) = match WgpuDevice::open(0) {
            Ok(opened) => (opened.device.clone(), opened),
            Err(error) => return eprintln!("skipped: wgpu: {error}"),
        };
        let gpu = Gpu::new(Box::new(device)).unwrap();
        let key = Key::new(CipherName::Aes128, &[7; 16]).unwrap();
        let made = |kernel: Kernel| Cipher::new(&gpu, kernel, kernel.group_threads(Language::Wgsl), &key);
        let mut cipher = made(ALL[0]).unwrap();
        let mut data = vec![0; 4096];
        cipher.apply(0, &mut data).unwrap();
        opened.destroy();
        assert!(cipher.apply(0, &mut data).is_err());
        assert!(gpu.allocate(4096).is_err());
        assert!(made(ALL[1]).is_err());
        let told = cipher.apply(0, &mut data).unwrap_err().to_string();
        assert!(told.starts_with("the device was lost") && !told.contains('\n'), "{told}");
    }
}
