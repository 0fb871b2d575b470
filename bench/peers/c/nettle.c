/* nettle 3 by its public functions. Contexts are as large as any of theirs may be. */
#include "peer.h"

typedef void crypt_t(void *context, size_t n, uint8_t *to, const uint8_t *from);
typedef void give_t(void *context, size_t n, const uint8_t *bytes);
typedef void digest_t(void *context, size_t n, uint8_t *tag);
typedef void key_t(void *context, const uint8_t *key);

static _Thread_local uint8_t context[1 << 14] __attribute__((aligned(64)));
static _Thread_local uint8_t other[1 << 14] __attribute__((aligned(64)));

static void *find(void *library, const char *format, const char *a, const char *b) {
    char name[96];
    snprintf(name, sizeof name, format, a, b);
    return dlsym(library, name);
}

/* Modes with a nonce, a text and a tag in calls of their own. */
static int in_steps(struct job *job, void *library, const char *mode, const char *cipher) {
    key_t *set_key = find(library, "nettle_%s_%s_set_key", mode, cipher);
    give_t *set_nonce = find(library, is(mode, "gcm") ? "nettle_%s_%s_set_iv" : "nettle_%s_%s_set_nonce", mode, cipher);
    crypt_t *crypt = find(library, job->opens ? "nettle_%s_%s_decrypt" : "nettle_%s_%s_encrypt", mode, cipher);
    digest_t *digest = find(library, "nettle_%s_%s_digest", mode, cipher);
    if (!set_key || !set_nonce || !crypt || !digest) return answer(job, NONE, "no such cipher or mode");
    uint8_t made[TAG];
    int failed = 0;
    if (job->opens) {
        EACH(set_key(context, key), set_nonce(context, job->nonce_bytes, m->nonce); crypt(context, n, to, from);
             digest(context, TAG, made); failed |= differs(made, m->tag));
    } else {
        EACH(set_key(context, key), set_nonce(context, job->nonce_bytes, m->nonce); crypt(context, n, to, from);
             digest(context, TAG, m->tag));
    }
    return failed ? answer(job, FAILED, "a tag is wrong") : DONE;
}

/* Modes with one call for a message. Their tag is part of the ciphertext: behind it, or before it in SIV. */
static int at_once(struct job *job, void *library, const char *mode, const char *cipher) {
    const int first = is(mode, "siv_cmac"), ccm = is(mode, "ccm"), opens = job->opens;
    void *run = find(library, opens ? "nettle_%s_%s_decrypt_message" : "nettle_%s_%s_encrypt_message", mode, cipher);
    key_t *set_key = is(mode, "siv_gcm") ? find(library, "nettle_%s_set_encrypt_key%s", cipher, "")
                                         : find(library, "nettle_%s_%s_set_key", mode, cipher);
    if (!run || !set_key) return answer(job, NONE, "no such cipher or mode");
    int (*brief)(void *, size_t, const uint8_t *, size_t, const uint8_t *, size_t, uint8_t *, const uint8_t *) = run;
    int (*tagged)(void *, size_t, const uint8_t *, size_t, const uint8_t *, size_t, size_t, uint8_t *,
                  const uint8_t *) = run;
    int fine = 1;
    if (opens) {
        EACH(set_key(context, key), const uint8_t *in = first ? from - TAG : from;
             fine &= ccm ? tagged(context, job->nonce_bytes, m->nonce, 0, NULL, TAG, n, to, in)
                         : brief(context, job->nonce_bytes, m->nonce, 0, NULL, n, to, in));
    } else {
        EACH(set_key(context, key), uint8_t *out = first ? to - TAG : to;
             if (ccm) tagged(context, job->nonce_bytes, m->nonce, 0, NULL, TAG, n + TAG, out, from);
             else brief(context, job->nonce_bytes, m->nonce, 0, NULL, n + TAG, out, from);
             memcpy(m->tag, first ? out : to + n, TAG));
    }
    return fine ? DONE : answer(job, FAILED, "a tag is wrong");
}

/* OCB has a context for a key and one for a message. */
static int ocb(struct job *job, void *library) {
    FIND(library, void, nettle_ocb_aes128_set_encrypt_key, (void *, const uint8_t *));
    FIND(library, void, nettle_ocb_aes128_set_decrypt_key, (void *, void *, const uint8_t *));
    FIND(library, void, nettle_ocb_aes128_encrypt_message,
         (void *, size_t, const uint8_t *, size_t, const uint8_t *, size_t, size_t, uint8_t *, const uint8_t *));
    FIND(library, int, nettle_ocb_aes128_decrypt_message,
         (void *, void *, size_t, const uint8_t *, size_t, const uint8_t *, size_t, size_t, uint8_t *, const uint8_t *));
    int fine = 1;
    if (job->opens) {
        EACH(nettle_ocb_aes128_set_decrypt_key(context, other, key),
             fine &= nettle_ocb_aes128_decrypt_message(context, other, job->nonce_bytes, m->nonce, 0, NULL, TAG, n, to, from));
    } else {
        EACH(nettle_ocb_aes128_set_encrypt_key(context, key),
             nettle_ocb_aes128_encrypt_message(context, job->nonce_bytes, m->nonce, 0, NULL, TAG, n + TAG, to, from);
             memcpy(m->tag, to + n, TAG));
    }
    return fine ? DONE : answer(job, FAILED, "a tag is wrong");
}

static int plain(struct job *job, void *library, const char *cipher) {
    const int inverse = job->opens && is(job->mode, "ecb");
    key_t *set_key = find(library, inverse ? "nettle_%s_set_decrypt_key%s" : "nettle_%s_set_encrypt_key%s", cipher, "");
    crypt_t *crypt = find(library, inverse ? "nettle_%s_decrypt%s" : "nettle_%s_encrypt%s", cipher, "");
    if (!set_key || !crypt) return answer(job, NONE, "no such cipher");
    if (is(job->mode, "ecb")) {
        EACH(set_key(context, key), crypt(context, n, to, from));
        return DONE;
    }
    FIND(library, void, nettle_ctr_crypt,
         (const void *, crypt_t *, size_t, uint8_t *, size_t, uint8_t *, const uint8_t *));
    uint8_t counter[16];
    EACH(set_key(context, key), memcpy(counter, m->nonce, 16); nettle_ctr_crypt(context, crypt, 16, counter, n, to, from));
    return DONE;
}

int nettle(struct job *job) {
    static const char *const names[] = {"libnettle.so.8", NULL};
    void *library = open_first(job, names);
    if (!library) return FAILED;
    FIND(library, int, nettle_version_major, (void));
    FIND(library, int, nettle_version_minor, (void));
    if (!job->mode) {
        snprintf(job->text, sizeof job->text, "nettle %d.%d", nettle_version_major(), nettle_version_minor());
        return DONE;
    }
    const char *cipher = is(job->cipher, "aes-128")   ? "aes128"
                         : is(job->cipher, "aes-256") ? "aes256"
                                                      : NULL;
    if (!cipher) return answer(job, NONE, "no such cipher");
    if (is(job->mode, "ecb") || is(job->mode, "ctr")) return plain(job, library, cipher);
    if (is(job->mode, "gcm") || is(job->mode, "eax")) return in_steps(job, library, job->mode, cipher);
    if (is(job->mode, "ccm")) return at_once(job, library, "ccm", cipher);
    if (is(job->mode, "siv")) return at_once(job, library, "siv_cmac", cipher);
    if (is(job->mode, "gcm-siv")) return at_once(job, library, "siv_gcm", cipher);
    if (is(job->mode, "ocb") && is(cipher, "aes128")) return ocb(job, library);
    return answer(job, NONE, "no such mode");
}
