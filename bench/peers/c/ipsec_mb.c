/* Intel's Multi-Buffer Crypto for IPsec: GCM by its direct calls, all else by bursts without checks.
 *
 * `struct manager` and `struct imb_job` are the front parts of IMB_MGR and IMB_JOB as intel-ipsec-mb.h has them in versions 1.3
 * and 2.0. Other versions are refused. */
#include <stddef.h>

#include "peer.h"

struct manager;
struct imb_job;
typedef void expand_t(const void *key, void *encrypts, void *decrypts);
typedef void gcm_t(const void *key, void *context, uint8_t *to, const uint8_t *from, uint64_t n, const uint8_t *nonce,
                   const uint8_t *aad, uint64_t aad_bytes, uint8_t *tag, uint64_t tag_bytes);
typedef uint32_t burst_t(struct manager *, void *jobs, uint32_t count, int cipher, int direction, int key_bytes);

/* Arrays of three are for keys of 128, 192 and 256 bits. */
struct manager {
    uint64_t front[14];
    expand_t *expand[3];
    expand_t *cmac_128;
    void *hashes[14];
    gcm_t *gcm_seal[3], *gcm_open[3];
    void *parts[18];
    void (*gcm_key[3])(const void *key, void *prepared);
    void *others[42];
    expand_t *cmac_256;
    void *more[22];
    burst_t *cipher_burst;
    void *checked;
    uint32_t (*hash_burst)(struct manager *, void *jobs, uint32_t count, int hash);
    void *rest[10];
    burst_t *aead_burst; /* from 2.0 on */
};
_Static_assert(offsetof(struct manager, expand) == 112 && offsetof(struct manager, cmac_128) == 136 &&
                   offsetof(struct manager, gcm_seal) == 256 && offsetof(struct manager, gcm_key) == 448 &&
                   offsetof(struct manager, cmac_256) == 808 && offsetof(struct manager, cipher_burst) == 992 &&
                   offsetof(struct manager, hash_burst) == 1008 && offsetof(struct manager, aead_burst) == 1096,
               "intel-ipsec-mb.h");

struct imb_job {
    const void *encrypts, *decrypts;
    uint64_t key_bytes;
    const uint8_t *from;
    uint8_t *to;
    uint64_t cipher_start, cipher_bytes, hash_start, hash_bytes;
    const uint8_t *nonce;
    uint64_t nonce_bytes;
    uint8_t *tag;
    uint64_t tag_bytes;
    const void *hash_keys[3]; /* a union: of CCM, additional data and its length */
    int status, cipher, direction, hash, order;
};
_Static_assert(offsetof(struct imb_job, nonce) == 72 && offsetof(struct imb_job, status) == 128, "intel-ipsec-mb.h");

enum { CBC = 1, CTR = 2, NO_CIPHER = 3, CCM = 9, ECB = 12, NO_HASH = 8, HASH_CCM = 11, CMAC_128 = 12, CMAC_256 = 27 };
enum { ENCRYPT = 1, DECRYPT = 2, CIPHER_FIRST = 1, HASH_FIRST = 2, COMPLETED = 3, MOST_OF_A_BURST = 128 };

/* Lanes count bytes by 16 bits. */
enum { MOST_OF_A_LANE = 65520 };

static _Thread_local uint8_t prepared[2048] __attribute__((aligned(64))), gcm_context[256] __attribute__((aligned(64)));
static _Thread_local uint8_t keys[4][240] __attribute__((aligned(64)));
static _Thread_local uint8_t jobs[MOST_OF_A_BURST * 256] __attribute__((aligned(64)));
static _Thread_local uint8_t made[MOST_OF_A_BURST][TAG];

static int gcm(struct job *job, struct manager *manager, int size) {
    gcm_t *run = job->opens ? manager->gcm_open[size] : manager->gcm_seal[size];
    int failed = 0;
#define GCM(tag) run(prepared, gcm_context, to, from, n, m->nonce, NULL, 0, tag, TAG)
    if (job->opens) {
        EACH(manager->gcm_key[size](key, prepared), GCM(made[0]); failed |= differs(made[0], m->tag));
    } else {
        EACH(manager->gcm_key[size](key, prepared), GCM(m->tag));
    }
    return failed ? answer(job, FAILED, "a tag is wrong") : DONE;
}

/* What every job of a mode has in common is written before the loop. */
static void template(struct imb_job *one, const struct job *job, int cipher, int hash) {
    *one = (struct imb_job){.encrypts = keys[0], .decrypts = cipher == CTR || cipher == CCM ? keys[0] : keys[1],
                            .key_bytes = job->key_bytes, .nonce_bytes = job->nonce_bytes,
                            .tag_bytes = TAG, .cipher = cipher, .hash = hash,
                            .direction = job->opens ? DECRYPT : ENCRYPT,
                            .order = (cipher == CCM && !job->opens) || cipher == NO_CIPHER ? HASH_FIRST : CIPHER_FIRST};
    if (hash == CMAC_128 || hash == CMAC_256) {
        one->hash_keys[0] = keys[0];
        one->hash_keys[1] = keys[2];
        one->hash_keys[2] = keys[3];
    }
}

static int bursts(struct job *job, struct manager *manager, int size, size_t job_bytes, int cipher, int hash) {
    const int aead = cipher == CCM, opens = job->opens;
    const size_t together = job->many ? job->count : 1;
    if (together > MOST_OF_A_BURST) return answer(job, FAILED, "more messages than a burst takes");
    for (size_t i = 0; i < together; i++) template((struct imb_job *)(jobs + i * job_bytes), job, cipher, hash);
    burst_t *const burst = aead ? manager->aead_burst : manager->cipher_burst;
    const int key_bytes = (int)job->key_bytes;
    size_t filled = 0;
    int failed = 0;
    EACH({ manager->expand[size](key, keys[0], keys[1]);
           if (hash == CMAC_128) manager->cmac_128(keys[0], keys[2], keys[3]);
           if (hash == CMAC_256) manager->cmac_256(keys[0], keys[2], keys[3]); },
         {
             struct imb_job *one = (struct imb_job *)(jobs + filled * job_bytes);
             one->from = from;
             one->to = to;
             one->cipher_bytes = one->hash_bytes = n;
             one->nonce = m->nonce;
             one->tag = aead && opens ? made[filled] : m->tag;
             if (++filled < together) continue;
             filled = 0;
             uint32_t done = cipher == NO_CIPHER ? manager->hash_burst(manager, jobs, (uint32_t)together, hash)
                                                 : burst(manager, jobs, (uint32_t)together, cipher, one->direction, key_bytes);
             failed |= done != together;
             if (aead && opens)
                 for (size_t i = 0; i < together; i++) failed |= differs(made[i], m[1 + i - together].tag);
         });
    return failed ? answer(job, FAILED, "a burst failed, or a tag is wrong") : DONE;
}

int ipsec_mb(struct job *job) {
    static const char *const names[] = {"libIPSec_MB.so.2", "libIPSec_MB.so.1", NULL};
    static _Thread_local struct manager *manager;
    void *library = open_first(job, names);
    if (!library) return FAILED;
    FIND(library, unsigned, imb_get_version, (void));
    FIND(library, struct manager *, alloc_mb_mgr, (uint64_t));
    FIND(library, void, init_mb_mgr_auto, (struct manager *, int *));
    const unsigned version = imb_get_version(), major = version >> 16, minor = version >> 8 & 255;
    if (!(major == 2 && minor == 0) && !(major == 1 && minor == 3))
        return answer(job, FAILED, "the structures of this version of ipsec-mb are not known here");
    if (!job->mode)
        return snprintf(job->text, sizeof job->text, "ipsec-mb %u.%u.%u", major, minor, version & 255), DONE;
    if (!manager) {
        int architecture;
        manager = alloc_mb_mgr(0);
        if (manager) init_mb_mgr_auto(manager, &architecture);
    }
    if (!manager || !starts(job->cipher, "aes-")) return answer(job, NONE, "no such cipher");
    const int size = ((int)job->key_bytes - 16) / 8;
    const size_t job_bytes = major == 2 ? 216 : 200; /* sizeof(IMB_JOB) */
    if (is(job->mode, "gcm")) return gcm(job, manager, size);
    if (is(job->mode, "ctr")) return bursts(job, manager, size, job_bytes, CTR, NO_HASH);
    for (size_t i = 0; i < job->count; i++)
        if (job->messages[i].bytes > MOST_OF_A_LANE) return answer(job, NONE, "longer than a lane takes");
    if (is(job->mode, "ecb") && major == 2) return bursts(job, manager, size, job_bytes, ECB, NO_HASH);
    if (is(job->mode, "cbc")) return bursts(job, manager, size, job_bytes, CBC, NO_HASH);
    if (is(job->mode, "ccm") && major == 2) return bursts(job, manager, size, job_bytes, CCM, HASH_CCM);
    if (is(job->mode, "cmac") && size != 1) return bursts(job, manager, size, job_bytes, NO_CIPHER, size ? CMAC_256 : CMAC_128);
    return answer(job, NONE, "no such mode");
}
