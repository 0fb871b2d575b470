/* What a worker in C gets, and the loop that every library is called in.
 *
 * The loop is compiled into each library's file, so a message costs the library's own calls and nothing else. Libraries are
 * opened at run time: no header or development package is needed, and a missing library costs its rows alone. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Every message has 64 bytes of room before `to`, and 64 behind it. */
struct message {
    const uint8_t *source;
    uint8_t *to;
    size_t bytes;
    const uint8_t *key;
    const uint8_t *nonce;
    uint8_t *tag;
};

struct job {
    const char *cipher; /* such as "aes-256" */
    const char *mode;   /* such as "gcm"; NULL asks for the library's name and version in `text` */
    size_t key_bytes;   /* of all keys of the mode */
    size_t nonce_bytes;
    int opens;     /* decrypt and compare tags */
    int fresh;     /* write the message into `to`, then work in place */
    int rekeys;    /* set up a key for every message */
    int only_keys; /* and do nothing else */
    int many;      /* all messages may go into one call */
    size_t count;
    struct message *messages;
    uint64_t repeats;
    uint64_t ns;    /* the answer */
    char text[256]; /* a name, or a reason */
};

/* What a worker returns. */
enum { DONE, NONE, FAILED };

#define TAG 16

static inline int answer(struct job *job, int code, const char *text) {
    snprintf(job->text, sizeof job->text, "%s", text);
    return code;
}

static inline uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline int is(const char *a, const char *b) { return strcmp(a, b) == 0; }
static inline int starts(const char *a, const char *b) { return strncmp(a, b, strlen(b)) == 0; }

/* Compares tags without branches, for libraries that leave this to the caller. */
static inline int differs(const uint8_t *a, const uint8_t *b) {
    uint64_t x[2], y[2];
    memcpy(x, a, TAG);
    memcpy(y, b, TAG);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1])) != 0;
}

/* Times the last arguments for all messages. They see `from`, `to`, `n` and the message `m`; `SET_KEY` sees `key`. */
#define EACH(SET_KEY, ...)                                                      \
    do {                                                                        \
        const uint8_t *key = job->messages[0].key;                              \
        const int fresh = job->fresh, rekeys = job->rekeys;                     \
        const int only_keys = job->only_keys;                                   \
        struct message *const end = job->messages + job->count;                 \
        SET_KEY;                                                                \
        const uint64_t start = now();                                           \
        for (uint64_t r = 0; r < job->repeats; r++)                             \
            for (struct message *m = job->messages; m < end; m++) {             \
                if (rekeys) {                                                   \
                    key = m->key;                                               \
                    SET_KEY;                                                    \
                    if (only_keys) continue;                                    \
                }                                                               \
                const size_t n = m->bytes;                                      \
                const uint8_t *from = m->source;                                \
                uint8_t *const to = m->to;                                      \
                if (fresh) from = memcpy(to, from, n);                          \
                __VA_ARGS__;                                                    \
            }                                                                   \
        job->ns = now() - start;                                                \
    } while (0)

/* Opens the first library of a list that ends in NULL. */
static inline void *open_first(struct job *job, const char *const *names) {
    void *library = NULL;
    for (; *names && !library; names++) library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    if (!library) answer(job, FAILED, dlerror());
    return library;
}

/* Declares a function pointer of a name, and looks it up. */
#define FIND(library, result, name, ...)                                                \
    result (*name) __VA_ARGS__;                                                         \
    *(void **)&name = dlsym(library, #name);                                            \
    if (!name) return answer(job, FAILED, "the library has no function " #name)
