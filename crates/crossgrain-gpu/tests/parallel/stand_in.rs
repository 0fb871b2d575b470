//! A device that is none: programs in CUDA C compiled as C++, run one thread after another. NVIDIA's run-time compiler has to take
//! them too, where CROSSGRAIN_NVRTC names it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossgrain::circuit::emit::Language;
use crossgrain::device::Listing;
use crossgrain_gpu::parallel::{Grid, Memory};
use crossgrain_gpu::{Error, Info, Job};

use crate::compilers::{Nvrtc, STAND_IN, answer, compiled, words};

pub(crate) struct StandIn {
    info: Info,
    programs: Mutex<HashMap<String, PathBuf>>,
}

impl StandIn {
    /// Nothing where there is no compiler.
    pub(crate) fn new() -> Option<Self> {
        Command::new("c++").arg("--version").output().ok()?;
        let info = Info {
            id: "c++".to_owned(),
            name: "CUDA C as C++".to_owned(),
            driver: "c++".to_owned(),
            is_software: true,
            max_blocks: 1 << 20,
            shared_bytes: 0,
            units: None,
        };
        Some(Self { info, programs: Mutex::default() })
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        for binary in self.programs.lock().unwrap().values() {
            std::fs::remove_dir_all(binary.parent().unwrap()).unwrap();
        }
    }
}

/// A program that reads its threads, how many words source and goal have, its job, and both; and writes the goal.
fn built(listing: &Listing) -> PathBuf {
    static BUILT: AtomicUsize = AtomicUsize::new(0);
    if let Some(nvrtc) = Nvrtc::find() {
        let made = nvrtc.made(std::slice::from_ref(listing));
        assert!(made.iter().all(|made| !made.spills), "{made:?}: {}", listing.text);
    }
    let Listing { entry, text, group_threads, .. } = listing;
    let main = format!(
        "int main() {{
    unsigned int head[3];
    get(head, sizeof head);
    Job job;
    get(&job, sizeof job);
    u32 *source = new u32[head[1]], *goal = new u32[head[2]];
    get(source, 4 * (size_t)head[1]);
    get(goal, 4 * (size_t)head[2]);
    blockDim.x = {group_threads};
    for (unsigned int at = 0; at < head[0]; at++) {{
        blockIdx.x = at / {group_threads};
        threadIdx.x = at % {group_threads};
        {entry}(source, goal, job);
    }}
    fwrite(goal, 4, head[2], stdout);
}}
"
    );
    let number = BUILT.fetch_add(1, Ordering::Relaxed);
    compiled(&format!("parallel-{number}"), &format!("{STAND_IN}{text}{main}")).unwrap()
}

impl Grid for StandIn {
    fn info(&self) -> &Info {
        &self.info
    }

    fn language(&self) -> Language {
        Language::Cuda
    }

    fn allocate(&self, len_bytes: usize) -> Result<Memory, Error> {
        Ok(Box::new(vec![0x5a_u8; len_bytes]))
    }

    fn upload(&self, bytes: &[u8], to: &mut Memory) -> Result<(), Error> {
        to.downcast_mut::<Vec<u8>>().unwrap()[..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn download(&self, from: &Memory, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.copy_from_slice(&from.downcast_ref::<Vec<u8>>().unwrap()[..bytes.len()]);
        Ok(())
    }

    fn run(
        &self,
        key: &str,
        listing: &dyn Fn() -> Listing,
        job: &Job,
        source: Option<&Memory>,
        goal: &mut Memory,
    ) -> Result<(), Error> {
        let mut programs = self.programs.lock().unwrap();
        let binary = programs.entry(key.to_owned()).or_insert_with(|| built(&listing()));
        let source = source.map_or(&[][..], |source| source.downcast_ref::<Vec<u8>>().unwrap());
        let goal = goal.downcast_mut::<Vec<u8>>().unwrap();
        let head = [job.threads, (source.len() / 4) as u32, (goal.len() / 4) as u32];
        let input = [&words(&head), &words(&job.words), source, goal].concat();
        *goal = answer(binary, &input);
        Ok(())
    }
}
