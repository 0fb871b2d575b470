/* OpenSSL 3 by its EVP interface, with ciphers fetched once and tags handed over as parameters.
 *
 * `OPENSSL_ia32cap` in the environment takes CPU features away from the library. */
#include <stdlib.h>

#include "peer.h"

/* OSSL_PARAM. */
struct parameter {
    const char *key;
    unsigned type;
    void *data;
    size_t size, written;
};
enum { UNSIGNED = 2, OCTETS = 5 };

int openssl(struct job *job) {
    static const char *const names[] = {"libcrypto.so.4", "libcrypto.so.3", NULL};
    void *library = open_first(job, names);
    if (!library) return FAILED;
    FIND(library, const char *, OpenSSL_version, (int));
    if (!job->mode) {
        const char *masked = getenv("OPENSSL_ia32cap");
        char version[64] = "";
        sscanf(OpenSSL_version(0), "OpenSSL %60s", version);
        snprintf(job->text, sizeof job->text, masked ? "OpenSSL %s (OPENSSL_ia32cap=%s)" : "OpenSSL %s", version, masked);
        return DONE;
    }
    FIND(library, void *, EVP_CIPHER_fetch, (void *, const char *, const char *));
    FIND(library, void, EVP_CIPHER_free, (void *));
    FIND(library, void *, EVP_CIPHER_CTX_new, (void));
    FIND(library, void, EVP_CIPHER_CTX_free, (void *));
    FIND(library, int, EVP_CIPHER_CTX_set_padding, (void *, int));
    FIND(library, int, EVP_CIPHER_CTX_get_params, (void *, struct parameter *));
    FIND(library, int, EVP_CipherInit_ex2,
         (void *, const void *, const uint8_t *, const uint8_t *, int, const struct parameter *));
    FIND(library, int, EVP_CipherUpdate, (void *, uint8_t *, int *, const uint8_t *, int));
    FIND(library, int, EVP_CipherFinal_ex, (void *, uint8_t *, int *));
    char name[64];
    snprintf(name, sizeof name, "%s-%s", job->cipher, job->mode);
    /* A context of SIV takes one message under a key. XTS of SM4 is that of GB/T 17964. */
    const int other = is(job->mode, "siv") || is(name, "sm4-xts");
    void *cipher = other ? NULL : EVP_CIPHER_fetch(NULL, name, NULL);
    if (!cipher) return answer(job, NONE, "no such cipher or mode");

    void *c = EVP_CIPHER_CTX_new();
    const int ccm = is(job->mode, "ccm"), encrypts = !job->opens;
    const int sealed = ccm || is(job->mode, "gcm") || is(job->mode, "ocb") || is(job->mode, "gcm-siv");
    uint8_t tag[TAG];
    size_t nonce_bytes = job->nonce_bytes;
    struct parameter sizes[] = {{"ivlen", UNSIGNED, &nonce_bytes, sizeof nonce_bytes, 0},
                                {"tag", OCTETS, encrypts ? NULL : tag, TAG, 0},
                                {NULL, 0, NULL, 0, 0}};
    struct parameter given[] = {{"tag", OCTETS, tag, TAG, 0}, {NULL, 0, NULL, 0, 0}};
    int fine = EVP_CipherInit_ex2(c, cipher, NULL, NULL, encrypts, ccm ? sizes : NULL), length;
    EVP_CIPHER_CTX_set_padding(c, 0);
#define SET_KEY fine &= EVP_CipherInit_ex2(c, NULL, key, NULL, encrypts, NULL)
#define SET_NONCE(parameters) fine &= EVP_CipherInit_ex2(c, NULL, NULL, m->nonce, encrypts, parameters)
#define UPDATE fine &= EVP_CipherUpdate(c, to, &length, from, (int)n)
/* OCB keeps a part of a block until the end. */
#define FINAL fine &= EVP_CipherFinal_ex(c, to + length, &length)
    if (!sealed && job->nonce_bytes == 0) {
        EACH(SET_KEY, UPDATE);
    } else if (!sealed) {
        EACH(SET_KEY, SET_NONCE(NULL); UPDATE);
    } else if (encrypts) {
        EACH(SET_KEY, SET_NONCE(NULL); if (ccm) fine &= EVP_CipherUpdate(c, NULL, &length, NULL, (int)n); UPDATE; FINAL;
             given[0].data = m->tag; fine &= EVP_CIPHER_CTX_get_params(c, given));
    } else {
        EACH(SET_KEY, given[0].data = m->tag; SET_NONCE(given);
             if (ccm) fine &= EVP_CipherUpdate(c, NULL, &length, NULL, (int)n); UPDATE; if (!ccm) FINAL);
    }
    EVP_CIPHER_CTX_free(c);
    EVP_CIPHER_free(cipher);
    return fine > 0 ? DONE : answer(job, FAILED, "a call failed");
}
