/* Botan 3 by its C interface. Tags are part of the ciphertext: behind it, or before it in SIV. */
#include <ctype.h>

#include "peer.h"

int botan(struct job *job) {
    static const char *const names[] = {"libbotan-3.so.13", "libbotan-3.so.12", "libbotan-3.so", NULL};
    void *library = open_first(job, names);
    if (!library) return FAILED;
    FIND(library, const char *, botan_version_string, (void));
    if (!job->mode) {
        char version[32] = "";
        sscanf(botan_version_string(), "Botan %30s", version);
        return snprintf(job->text, sizeof job->text, "Botan %s", version), DONE;
    }
    char cipher[32], name[64];
    snprintf(cipher, sizeof cipher, "%s", starts(job->cipher, "serpent") ? "serpent" : job->cipher);
    const int is_acronym = starts(cipher, "a") || is(cipher, "sm4");
    for (size_t i = 0; i < (is_acronym ? strlen(cipher) : 1); i++) cipher[i] = (char)toupper((unsigned char)cipher[i]);
    const int opens = job->opens;
    int failed = 0;
    if (is(job->mode, "ecb")) {
        FIND(library, int, botan_block_cipher_init, (void **, const char *));
        FIND(library, int, botan_block_cipher_destroy, (void *));
        FIND(library, int, botan_block_cipher_set_key, (void *, const uint8_t *, size_t));
        FIND(library, int, botan_block_cipher_encrypt_blocks, (void *, const uint8_t *, uint8_t *, size_t));
        FIND(library, int, botan_block_cipher_decrypt_blocks, (void *, const uint8_t *, uint8_t *, size_t));
        void *h;
        if (botan_block_cipher_init(&h, cipher)) return answer(job, NONE, "no such cipher");
        EACH(failed |= botan_block_cipher_set_key(h, key, job->key_bytes),
             failed |= (opens ? botan_block_cipher_decrypt_blocks : botan_block_cipher_encrypt_blocks)(h, from, to, n / 16));
        botan_block_cipher_destroy(h);
        return failed ? answer(job, FAILED, "a call failed") : DONE;
    }
    FIND(library, int, botan_cipher_init, (void **, const char *, uint32_t));
    FIND(library, int, botan_cipher_destroy, (void *));
    FIND(library, int, botan_cipher_set_key, (void *, const uint8_t *, size_t));
    FIND(library, int, botan_cipher_start, (void *, const uint8_t *, size_t));
    FIND(library, int, botan_cipher_update,
         (void *, uint32_t, uint8_t *, size_t, size_t *, const uint8_t *, size_t, size_t *));
    const char *format = is(job->mode, "ctr")   ? "CTR-BE(%s)"
                         : is(job->mode, "xts") ? "%s/XTS"
                         : is(job->mode, "gcm") ? "%s/GCM"
                         : is(job->mode, "ocb") ? "%s/OCB"
                         : is(job->mode, "eax") ? "%s/EAX"
                         : is(job->mode, "ccm") ? "%s/CCM(16,4)"
                         : is(job->mode, "siv") ? "%s/SIV"
                                                : NULL;
    if (!format) return answer(job, NONE, "no such mode");
    snprintf(name, sizeof name, format, cipher);
    void *h;
    if (botan_cipher_init(&h, name, opens ? 1 : 0)) return answer(job, NONE, "no such cipher or mode");
    const size_t tag = is(job->mode, "ctr") || is(job->mode, "xts") ? 0 : TAG;
    const int first = is(job->mode, "siv");
    size_t written = 0, used = 0;
    FIND(library, int, botan_cipher_set_associated_data, (void *, const uint8_t *, size_t));
/* Empty associated data is a string of SIV's, and none is none. */
#define SET_KEY                                                                                        \
    failed |= botan_cipher_set_key(h, key, job->key_bytes);                                            \
    if (first) failed |= botan_cipher_set_associated_data(h, (const uint8_t *)"", 0)
#define RUN(in, in_bytes, out, out_bytes)                                                              \
    failed |= botan_cipher_start(h, m->nonce, job->nonce_bytes) |                                      \
              botan_cipher_update(h, 1, out, out_bytes, &written, in, in_bytes, &used)
    if (opens) {
        EACH(SET_KEY, RUN(first ? from - TAG : from, n + tag, to, n));
    } else {
        EACH(SET_KEY, uint8_t *out = first ? to - TAG : to; RUN(from, n, out, n + tag);
             if (tag) memcpy(m->tag, first ? out : to + n, TAG));
    }
    botan_cipher_destroy(h);
    return failed ? answer(job, FAILED, "a call failed") : DONE;
}
