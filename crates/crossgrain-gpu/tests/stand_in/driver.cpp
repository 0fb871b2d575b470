// A stand-in for NVIDIA's driver and run-time compiler, with the functions that crossgrain calls. A CUDA C
// program is compiled as C++ and runs on the host (program.h). Its speed says nothing about a GPU.
//
// The stand-in is as strict as a GPU. New memory contains garbage and ends at a page boundary, followed by
// an inaccessible page. Calls need a context. A group has only the shared memory that was requested. A
// failed run is reported at the next wait, as on a GPU.
//
// STAND_IN injects a fault:
//   devices=N   there are N devices
//   memory=N    there are N bytes of memory
//   lost=N      the Nth run and all later calls fail
//   wrong=N     the Nth run also flips a bit of its result
//   compiler=0  the compiler rejects all programs
// STAND_IN_TEXTS is a folder to which programs are written.

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <regex>
#include <string>

namespace {

// As in cuda.h.
enum Result {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NOT_FOUND = 500,
    LAUNCH_FAILED = 719,
};
enum Attribute {
    GROUP_THREADS = 1,
    MULTIPROCESSORS = 16,
    CLOCK_KHZ = 13,
    MAJOR = 75,
    MINOR = 76,
    SHARED_OPTIN = 97,
};
enum Compiled { COMPILED = 0, INVALID_OPTION = 5, REFUSED = 6 };

const size_t SHARED_BYTES = 48 << 10, SHARED_OPTIN_BYTES = 227 << 10;

typedef std::chrono::steady_clock Clock;
typedef void Entry(unsigned groups, unsigned threads, size_t dynamic_bytes, void **arguments);

struct Module {
    void *library;
    int file;
};

struct Function {
    Entry *entry;
    size_t dynamic_bytes;
};

struct Program {
    std::string text, log, path;
};

// The device's state: memory by start address, the bytes in use, and the number of runs.
struct Device {
    std::mutex lock;
    std::map<char *, size_t> memory;
    size_t bytes = 0;
    long runs = 0;
    bool is_lost = false;
} device;

thread_local void *current = nullptr;

long fault(const char *name, long without) {
    const char *told = getenv("STAND_IN");
    std::string prefix = std::string(name) + "=";
    return told && !strncmp(told, prefix.c_str(), prefix.size()) ? atol(told + prefix.size()) : without;
}

// Whether a call can be served: it has a context, and the device is not lost.
Result ready() {
    std::lock_guard<std::mutex> guard(device.lock);
    return !current ? INVALID_CONTEXT : device.is_lost ? LAUNCH_FAILED : SUCCESS;
}

// Whether the device's memory contains all of these bytes.
bool holds(char *at, size_t bytes) {
    std::lock_guard<std::mutex> guard(device.lock);
    auto after = device.memory.upper_bound(at);
    if (after == device.memory.begin()) return false;
    auto found = std::prev(after);
    return size_t(at - found->first) + bytes <= found->second;
}

Result copied(void *to, const void *from, char *on_device, size_t bytes) {
    if (Result not_ready = ready()) return not_ready;
    if (!bytes || !holds(on_device, bytes)) return INVALID_VALUE;
    memcpy(to, from, bytes);
    return SUCCESS;
}

// The mapping for bytes that end at a page boundary: its start, and its length including the inaccessible
// page after it.
std::pair<char *, size_t> pages(char *end, size_t bytes) {
    size_t page = sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
    return {end - whole, whole + page};
}

std::string folder() {
    Dl_info info;
    dladdr((void *)folder, &info);
    std::string path = info.dli_fname;
    return path.substr(0, path.rfind('/'));
}

std::string contents(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// A program as C++: with the GPU's environment around it, and a call function for each of its entries.
std::string as_cpp(std::string text) {
    std::string ways;
    std::regex entry("__global__ void[^{]*?(\\w+)\\(const");
    for (std::sregex_iterator at(text.begin(), text.end(), entry), end; at != end; ++at) {
        ways += "STAND_IN_ENTRY(" + (*at)[1].str() + ")\n";
    }
    text = std::regex_replace(text, std::regex("extern __shared__ (\\w+) (\\w+)\\[\\];"), "#define DYNAMIC $2\nstatic $1 $2[58112];");
    return "#include \"" + folder() + "/program.h\"\n" + text + "\n#include \"" + folder() + "/program.h\"\n" + ways;
}

}  // namespace

extern "C" {

int nvrtcVersion(int *major, int *minor) {
    *major = *minor = 0;
    return COMPILED;
}

int nvrtcCreateProgram(Program **program, const char *text, const char *, int, const char *const *, const char *const *) {
    *program = new Program{text, "", ""};
    return COMPILED;
}

int nvrtcCompileProgram(Program *program, int count, const char *const *options) {
    if (count != 1 || strcmp(options[0], "--gpu-architecture=compute_90")) return INVALID_OPTION;
    if (!fault("compiler", 1)) {
        program->log = "the stand-in takes no program";
        return REFUSED;
    }
    static std::atomic<int> begun;
    std::string text = as_cpp(program->text), name = std::to_string(std::hash<std::string>()(text));
    std::string path = folder() + "/" + name, mine = path + "." + std::to_string(getpid()) + "." + std::to_string(begun++);
    program->path = path + ".so";
    if (const char *texts = getenv("STAND_IN_TEXTS")) std::ofstream(texts + ("/" + name)) << program->text;
    if (!access(program->path.c_str(), R_OK)) return COMPILED;
    std::ofstream(mine + ".cpp") << text;
    std::string compile = "c++ -O1 -w -ffp-contract=off -std=c++17 -shared -fPIC -Wl,-Bsymbolic -o '" + mine + ".so' '" + mine + ".cpp' 2> '" +
                          mine + ".log'";
    bool is_done = !system(compile.c_str());
    program->log = contents(mine + ".log");
    is_done = is_done && !rename((mine + ".so").c_str(), program->path.c_str());
    for (const char *what : {".cpp", ".log"}) unlink((mine + what).c_str());
    return is_done ? COMPILED : REFUSED;
}

// The "assembly" here is the path of the compiled library.
int nvrtcGetPTXSize(Program *program, size_t *bytes) {
    *bytes = program->path.size() + 1;
    return COMPILED;
}

int nvrtcGetPTX(Program *program, char *ptx) {
    strcpy(ptx, program->path.c_str());
    return COMPILED;
}

int nvrtcGetProgramLogSize(Program *program, size_t *bytes) {
    *bytes = program->log.size() + 1;
    return COMPILED;
}

int nvrtcGetProgramLog(Program *program, char *log) {
    strcpy(log, program->log.c_str());
    return COMPILED;
}

int nvrtcDestroyProgram(Program **program) {
    delete *program;
    *program = nullptr;
    return COMPILED;
}

int cuInit(unsigned) { return fault("devices", 1) < 0 ? NO_DEVICE : SUCCESS; }

int cuGetErrorString(int error, const char **text) {
    const std::map<int, const char *> texts = {
        {OUT_OF_MEMORY, "out of memory"},
        {NO_DEVICE, "no CUDA-capable device is detected"},
        {LAUNCH_FAILED, "unspecified launch failure"},
    };
    auto found = texts.find(error);
    *text = found == texts.end() ? "an error of the stand-in's" : found->second;
    return SUCCESS;
}

int cuGetErrorName(int error, const char **text) { return cuGetErrorString(error, text); }

int cuDeviceGetCount(int *count) {
    *count = int(fault("devices", 1));
    return SUCCESS;
}

int cuDeviceGet(int *number, int wanted) {
    *number = wanted;
    return wanted < fault("devices", 1) ? SUCCESS : INVALID_DEVICE;
}

int cuDeviceGetName(char *name, int bytes, int) {
    snprintf(name, bytes, "CUDA C as C++");
    return SUCCESS;
}

int cuDeviceGetAttribute(int *value, int attribute, int) {
    const std::map<int, int> values = {
        {GROUP_THREADS, 1024}, {MULTIPROCESSORS, 1}, {CLOCK_KHZ, 1000000}, {MAJOR, 9}, {MINOR, 0}, {SHARED_OPTIN, int(SHARED_OPTIN_BYTES)},
    };
    auto found = values.find(attribute);
    *value = found == values.end() ? 0 : found->second;
    return SUCCESS;
}

int cuDevicePrimaryCtxRetain(void **context, int) {
    *context = &device;
    return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int) { return SUCCESS; }

int cuCtxGetCurrent(void **context) {
    *context = current;
    return SUCCESS;
}

int cuCtxSetCurrent(void *context) {
    current = context;
    return SUCCESS;
}

int cuCtxSynchronize() { return ready(); }

int cuStreamSynchronize(void *) { return ready(); }

int cuStreamWaitEvent(void *, void *, unsigned) { return ready(); }

int cuEventCreate(Clock::time_point **event, unsigned) {
    *event = new Clock::time_point;
    return ready();
}

int cuEventRecord(Clock::time_point *event, void *) {
    *event = Clock::now();
    return ready();
}

int cuEventSynchronize(void *) { return ready(); }

int cuEventElapsedTime_v2(float *ms, Clock::time_point *from, Clock::time_point *to) {
    *ms = std::chrono::duration<float, std::milli>(*to - *from).count();
    return ready();
}

int cuEventElapsedTime(float *ms, Clock::time_point *from, Clock::time_point *to) {
    return cuEventElapsedTime_v2(ms, from, to);
}

int cuEventDestroy_v2(Clock::time_point *event) {
    delete event;
    return SUCCESS;
}

int cuMemAlloc_v2(char **at, size_t bytes) {
    if (Result not_ready = ready()) return not_ready;
    if (!bytes) return INVALID_VALUE;
    std::lock_guard<std::mutex> guard(device.lock);
    size_t most = fault("memory", 1l << 33);
    if (bytes > most || device.bytes + bytes > most) return OUT_OF_MEMORY;
    size_t page = sysconf(_SC_PAGESIZE), mapped = pages(nullptr, bytes).second;
    char *from = (char *)mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (from == MAP_FAILED) return OUT_OF_MEMORY;
    char *end = from + mapped - page;
    mprotect(end, page, PROT_NONE);
    *at = end - bytes;
    memset(*at, 0x5a, bytes);
    device.memory[*at] = bytes;
    device.bytes += bytes;
    return SUCCESS;
}

int cuMemFree_v2(char *at) {
    std::lock_guard<std::mutex> guard(device.lock);
    auto found = device.memory.find(at);
    if (found == device.memory.end()) return INVALID_VALUE;
    auto [from, mapped] = pages(at + found->second, found->second);
    munmap(from, mapped);
    device.bytes -= found->second;
    device.memory.erase(found);
    return SUCCESS;
}

int cuMemsetD8Async(char *at, unsigned char value, size_t bytes, void *) {
    if (Result not_ready = ready()) return not_ready;
    if (!holds(at, bytes)) return INVALID_VALUE;
    memset(at, value, bytes);
    return SUCCESS;
}

int cuMemcpyHtoDAsync_v2(char *to, const void *from, size_t bytes, void *) { return copied(to, from, to, bytes); }

int cuMemcpyDtoHAsync_v2(void *to, char *from, size_t bytes, void *) { return copied(to, from, from, bytes); }

// Each module has separate memory, because it is a library loaded from a separate file. The file's name is
// unique while it is open.
int cuModuleLoadData(Module **module, const void *ptx) {
    if (Result not_ready = ready()) return not_ready;
    int copy = memfd_create("program", MFD_CLOEXEC);
    std::string library = contents((const char *)ptx), path = "/proc/self/fd/" + std::to_string(copy);
    bool is_copied = write(copy, library.data(), library.size()) == ssize_t(library.size());
    void *loaded = is_copied ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    *module = new Module{loaded, copy};
    return loaded ? SUCCESS : INVALID_IMAGE;
}

int cuModuleUnload(Module *module) {
    dlclose(module->library);
    close(module->file);
    delete module;
    return SUCCESS;
}

int cuModuleGetFunction(Function **function, Module *module, const char *name) {
    Entry *entry = (Entry *)dlsym(module->library, (std::string("stand_in_") + name).c_str());
    *function = new Function{entry, SHARED_BYTES};
    return entry ? SUCCESS : NOT_FOUND;
}

int cuModuleGetGlobal_v2(char **at, size_t *bytes, Module *module, const char *name) {
    void *found = dlsym(module->library, name);
    Dl_info info;
    const ElfW(Sym) *symbol = nullptr;
    if (!found || !dladdr1(found, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol) return NOT_FOUND;
    *at = (char *)found;
    *bytes = symbol->st_size;
    std::lock_guard<std::mutex> guard(device.lock);
    device.memory[*at] = *bytes;
    return SUCCESS;
}

int cuFuncSetAttribute(Function *function, int, int value) {
    if (size_t(value) > SHARED_OPTIN_BYTES) return INVALID_VALUE;
    function->dynamic_bytes = value;
    return SUCCESS;
}

int cuLaunchKernel(Function *function, unsigned groups, unsigned y, unsigned z, unsigned threads, unsigned j, unsigned k,
                   unsigned dynamic_bytes, void *, void **arguments, void **) {
    if (Result not_ready = ready()) return not_ready;
    if (!groups || y != 1 || z != 1 || j != 1 || k != 1 || dynamic_bytes > function->dynamic_bytes) return INVALID_VALUE;
    static std::mutex running;
    std::lock_guard<std::mutex> guard(running);
    long run = ++device.runs;
    if (fault("lost", 0) && run >= fault("lost", 0)) {
        device.is_lost = true;
        return SUCCESS;
    }
    function->entry(groups, threads, dynamic_bytes, arguments);
    if (run == fault("wrong", 0)) (*(char **)arguments[1])[0] ^= 1;
    return SUCCESS;
}
}
