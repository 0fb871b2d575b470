/* libgcrypt. Numbers are those of gcrypt.h, the same in versions 1.8 to 1.12. */
#include "peer.h"

typedef unsigned error_t;
enum { RESET = 4, FINALIZE = 5, SET_CCM_LENGTHS = 69, SET_DECRYPTION_TAG = 80 };

static int number(const char *name, const char *const *names, const int *numbers) {
    for (; *names; names++, numbers++)
        if (is(name, *names)) return *numbers;
    return 0;
}

static int algorithm(const char *cipher) {
    static const char *const names[] = {"aes-128", "aes-192", "aes-256", "serpent-128", "serpent-192", "serpent-256",
                                        "camellia-128", "camellia-192", "camellia-256", "sm4", "aria-128", "aria-192",
                                        "aria-256", NULL};
    static const int numbers[] = {7, 8, 9, 304, 305, 306, 310, 311, 312, 318, 319, 320, 321};
    return number(cipher, names, numbers);
}

static int mode_number(const char *mode) {
    static const char *const names[] = {"ecb", "cbc", "ctr", "ccm", "gcm", "ocb", "xts", "eax", "siv", "gcm-siv", NULL};
    static const int numbers[] = {1, 3, 6, 8, 9, 11, 13, 14, 15, 16};
    return number(mode, names, numbers);
}

static int cmac(struct job *job, void *library) {
    FIND(library, error_t, gcry_mac_open, (void **, int, unsigned, void *));
    FIND(library, void, gcry_mac_close, (void *));
    FIND(library, error_t, gcry_mac_setkey, (void *, const void *, size_t));
    FIND(library, error_t, gcry_mac_ctl, (void *, int, void *, size_t));
    FIND(library, error_t, gcry_mac_write, (void *, const void *, size_t));
    FIND(library, error_t, gcry_mac_read, (void *, void *, size_t *));
    void *h;
    if (!starts(job->cipher, "aes-") || gcry_mac_open(&h, 201, 0, NULL)) return answer(job, NONE, "no such mac");
    size_t tag = TAG;
    error_t failed = 0;
    EACH(failed |= gcry_mac_setkey(h, key, job->key_bytes), (void)to;
         failed |= gcry_mac_ctl(h, RESET, NULL, 0) | gcry_mac_write(h, from, n) | gcry_mac_read(h, m->tag, &tag));
    gcry_mac_close(h);
    return failed ? answer(job, FAILED, "a call failed") : DONE;
}

int libgcrypt(struct job *job) {
    static const char *const names[] = {"libgcrypt.so.20", NULL};
    void *library = open_first(job, names);
    if (!library) return FAILED;
    FIND(library, const char *, gcry_check_version, (const char *));
    const char *version = gcry_check_version(NULL);
    if (!job->mode) return snprintf(job->text, sizeof job->text, "libgcrypt %s", version), DONE;
    if (is(job->mode, "cmac")) return cmac(job, library);
    FIND(library, error_t, gcry_cipher_open, (void **, int, int, unsigned));
    FIND(library, void, gcry_cipher_close, (void *));
    FIND(library, error_t, gcry_cipher_setkey, (void *, const void *, size_t));
    FIND(library, error_t, gcry_cipher_setiv, (void *, const void *, size_t));
    FIND(library, error_t, gcry_cipher_setctr, (void *, const void *, size_t));
    FIND(library, error_t, gcry_cipher_ctl, (void *, int, void *, size_t));
    FIND(library, error_t, gcry_cipher_encrypt, (void *, void *, size_t, const void *, size_t));
    FIND(library, error_t, gcry_cipher_decrypt, (void *, void *, size_t, const void *, size_t));
    FIND(library, error_t, gcry_cipher_authenticate, (void *, const void *, size_t));
    FIND(library, error_t, gcry_cipher_gettag, (void *, void *, size_t));
    FIND(library, error_t, gcry_cipher_checktag, (void *, const void *, size_t));
    const int cipher = algorithm(job->cipher), mode = mode_number(job->mode);
    void *h;
    if (!cipher || !mode || gcry_cipher_open(&h, cipher, mode, 0)) return answer(job, NONE, "no such cipher or mode");

    const int opens = job->opens;
    const size_t nonce = job->nonce_bytes;
    error_t failed = 0;
#define SET_KEY failed |= gcry_cipher_setkey(h, key, job->key_bytes)
#define CRYPT failed |= (opens ? gcry_cipher_decrypt : gcry_cipher_encrypt)(h, to, n, from, n)
#define FINISH failed |= opens ? gcry_cipher_checktag(h, m->tag, TAG) : gcry_cipher_gettag(h, m->tag, TAG)
    if (is(job->mode, "ecb")) {
        EACH(SET_KEY, CRYPT);
    } else if (is(job->mode, "ctr")) {
        EACH(SET_KEY, failed |= gcry_cipher_setctr(h, m->nonce, nonce); CRYPT);
    } else if (is(job->mode, "cbc") || is(job->mode, "xts")) {
        EACH(SET_KEY, failed |= gcry_cipher_setiv(h, m->nonce, nonce); CRYPT);
    } else if (is(job->mode, "ccm")) {
        EACH(SET_KEY, uint64_t lengths[3] = {n, 0, TAG}; failed |= gcry_cipher_setiv(h, m->nonce, nonce);
             failed |= gcry_cipher_ctl(h, SET_CCM_LENGTHS, lengths, sizeof lengths); CRYPT; FINISH);
    } else if (is(job->mode, "ocb")) {
        EACH(SET_KEY, failed |= gcry_cipher_setiv(h, m->nonce, nonce);
             failed |= gcry_cipher_ctl(h, FINALIZE, NULL, 0); CRYPT; FINISH);
    } else if (is(job->mode, "eax")) {
        EACH(SET_KEY, failed |= gcry_cipher_ctl(h, RESET, NULL, 0) | gcry_cipher_setiv(h, m->nonce, nonce); CRYPT; FINISH);
    } else if (is(job->mode, "siv")) {
        /* Empty associated data is a string of SIV's, and none is none. */
        EACH(SET_KEY, failed |= gcry_cipher_ctl(h, RESET, NULL, 0) | gcry_cipher_authenticate(h, "", 0);
             failed |= gcry_cipher_setiv(h, m->nonce, nonce);
             if (opens) failed |= gcry_cipher_ctl(h, SET_DECRYPTION_TAG, m->tag, TAG); CRYPT; FINISH);
    } else if (is(job->mode, "gcm-siv")) {
        EACH(SET_KEY, failed |= gcry_cipher_ctl(h, RESET, NULL, 0) | gcry_cipher_setiv(h, m->nonce, nonce);
             if (opens) failed |= gcry_cipher_ctl(h, SET_DECRYPTION_TAG, m->tag, TAG); CRYPT; FINISH);
    } else {
        EACH(SET_KEY, failed |= gcry_cipher_setiv(h, m->nonce, nonce); CRYPT; FINISH);
    }
    gcry_cipher_close(h);
    return failed ? answer(job, FAILED, "a call failed") : DONE;
}
