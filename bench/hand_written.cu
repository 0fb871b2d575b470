// AES in counter mode written by hand for CUDA, bit-sliced, 32 blocks a thread: what one source for all targets is measured
// against. `crossgrain bench gpu --beside` starts it as its own program `aes-ctr`: the same job, and the same round keys, a
// word of equal bits for each bit, which have the constant of the S-box added in all but the first.
//
// Word 8*i + j of a state is bit j of byte i of 32 blocks; block n of a thread is 32*n blocks behind its first.
// Source: Boyar and Peralta, "A small depth-16 circuit for the AES S-box" (2012), for the S-box.
// Holds: the counters of a thread differ above their lowest word by a carry at most, which is kept as a bit for each block.
typedef unsigned int u32;

struct Job {
    u32 blocks;
    u32 rounds;
    u32 c0, c1, c2, c3;
};

__constant__ u32 keys[4224];

// SubBytes on a byte, less the constant 0x63.
__device__ __forceinline__ void sub_byte(u32 *s) {
    u32 x0 = s[7], x1 = s[6], x2 = s[5], x3 = s[4], x4 = s[3], x5 = s[2], x6 = s[1], x7 = s[0];
    // Into GF((2^4)^2).
    u32 y14 = x3 ^ x5, y13 = x0 ^ x6, y9 = x0 ^ x3, y8 = x0 ^ x5, t0 = x1 ^ x2, y1 = t0 ^ x7, y4 = y1 ^ x3;
    u32 y12 = y13 ^ y14, y2 = y1 ^ x0, y5 = y1 ^ x6, y3 = y5 ^ y8, t1 = x4 ^ y12, y15 = t1 ^ x5, y20 = t1 ^ x1;
    u32 y6 = y15 ^ x7, y10 = y15 ^ t0, y11 = y20 ^ y9, y7 = x7 ^ y11, y17 = y10 ^ y11, y19 = y10 ^ y8;
    u32 y16 = t0 ^ y11, y21 = y13 ^ y16, y18 = x0 ^ y16;
    // The inverse.
    u32 t2 = y12 & y15, t3 = y3 & y6, t4 = t3 ^ t2, t5 = y4 & x7, t6 = t5 ^ t2, t7 = y13 & y16, t8 = y5 & y1;
    u32 t9 = t8 ^ t7, t10 = y2 & y7, t11 = t10 ^ t7, t12 = y9 & y11, t13 = y14 & y17, t14 = t13 ^ t12;
    u32 t15 = y8 & y10, t16 = t15 ^ t12, t21 = t4 ^ t14 ^ y20, t22 = t6 ^ t16 ^ y19, t23 = t9 ^ t14 ^ y21;
    u32 t24 = t11 ^ t16 ^ y18, t25 = t21 ^ t22, t26 = t21 & t23, t27 = t24 ^ t26, t29 = (t25 & t27) ^ t22;
    u32 t30 = t23 ^ t24, t31 = t22 ^ t26, t33 = (t31 & t30) ^ t24, t34 = t23 ^ t33, t35 = t27 ^ t33;
    u32 t36 = t24 & t35, t37 = t36 ^ t34, t38 = t27 ^ t36, t40 = t25 ^ (t29 & t38), t41 = t40 ^ t37;
    u32 t42 = t29 ^ t33, t43 = t29 ^ t40, t44 = t33 ^ t37, t45 = t42 ^ t41;
    u32 z0 = t44 & y15, z1 = t37 & y6, z2 = t33 & x7, z3 = t43 & y16, z4 = t40 & y1, z5 = t29 & y7;
    u32 z6 = t42 & y11, z7 = t45 & y17, z8 = t41 & y10, z9 = t44 & y12, z10 = t37 & y3, z11 = t33 & y4;
    u32 z12 = t43 & y13, z13 = t40 & y5, z14 = t29 & y2, z15 = t42 & y9, z16 = t45 & y14, z17 = t41 & y8;
    // Back, and the affine map.
    u32 t46 = z15 ^ z16, t47 = z10 ^ z11, t48 = z5 ^ z13, t49 = z9 ^ z10, t50 = z2 ^ z12, t51 = z2 ^ z5;
    u32 t52 = z7 ^ z8, t53 = z0 ^ z3, t54 = z6 ^ z7, t55 = z16 ^ z17, t56 = z12 ^ t48, t57 = t50 ^ t53;
    u32 t58 = z4 ^ t46, t59 = z3 ^ t54, t60 = t46 ^ t57, t61 = z14 ^ t57, t62 = t52 ^ t58, t63 = t49 ^ t58;
    u32 t64 = z4 ^ t59, t65 = t61 ^ t62, t66 = z1 ^ t63, t67 = t64 ^ t65, s3 = t53 ^ t66;
    s[7] = t59 ^ t63;
    s[6] = t64 ^ s3;
    s[5] = t55 ^ t67;
    s[4] = s3;
    s[3] = t51 ^ t66;
    s[2] = t47 ^ t65;
    s[1] = t56 ^ t62;
    s[0] = t48 ^ t60;
}

// Bytes of a column after ShiftRows, each through SubBytes.
__device__ __forceinline__ void shifted_column(const u32 *s, int column, u32 *x) {
#pragma unroll
    for (int row = 0; row < 4; row++) {
#pragma unroll
        for (int bit = 0; bit < 8; bit++)
            x[8 * row + bit] = s[32 * ((column + row) % 4) + 8 * row + bit];
        sub_byte(x + 8 * row);
    }
}

// SubBytes, ShiftRows, MixColumns, AddRoundKey.
__device__ __forceinline__ void middle_round(u32 *s, const u32 *key) {
    u32 y[128];
#pragma unroll
    for (int column = 0; column < 4; column++) {
        u32 x[32];
        shifted_column(s, column, x);
#pragma unroll
        for (int row = 0; row < 4; row++) {
            const u32 *a = x + 8 * row, *b = x + 8 * ((row + 1) % 4), *c = x + 8 * ((row + 2) % 4), *d = x + 8 * ((row + 3) % 4);
            u32 top = a[7] ^ b[7];
#pragma unroll
            for (int bit = 0; bit < 8; bit++) {
                int at = 32 * column + 8 * row + bit;
                u32 sum = b[bit] ^ c[bit] ^ d[bit] ^ key[at];
                if (bit > 0)
                    sum ^= a[bit - 1] ^ b[bit - 1];
                // x^8 = x^4 + x^3 + x + 1
                if (bit == 0 || bit == 1 || bit == 3 || bit == 4)
                    sum ^= top;
                y[at] = sum;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 128; i++)
        s[i] = y[i];
}

// SubBytes, ShiftRows, AddRoundKey.
__device__ __forceinline__ void last_round(u32 *s, const u32 *key) {
    u32 y[128];
#pragma unroll
    for (int column = 0; column < 4; column++)
        shifted_column(s, column, y + 32 * column);
#pragma unroll
    for (int i = 0; i < 128; i++)
        s[i] = y[i] ^ key[i];
}

// 32 by 32 bits.
__device__ __forceinline__ void transpose(u32 *x) {
    u32 mask = 0x0000ffff;
#pragma unroll
    for (int half = 16; half > 0; half >>= 1, mask ^= mask << half) {
#pragma unroll
        for (int i = 0; i < 32; i++) {
            if (i & half)
                continue;
            u32 change = (x[i] >> half ^ x[i + half]) & mask;
            x[i + half] ^= change;
            x[i] ^= change << half;
        }
    }
}

// The bits of a word of counters: those of `word`, and where `carry` is set those of the next.
__device__ __forceinline__ void counter_word(u32 word, u32 carry, u32 *s) {
    u32 change = word ^ (word + 1);
#pragma unroll
    for (int bit = 0; bit < 32; bit++)
        s[8 * (3 - bit / 8) + bit % 8] = (0u - (word >> bit & 1)) ^ ((0u - (change >> bit & 1)) & carry);
}

extern "C" __global__ void __launch_bounds__(64)
hand_written(const uint4 *__restrict__ source, uint4 *__restrict__ goal, const Job job) {
    u32 thread = blockIdx.x * blockDim.x + threadIdx.x;
    u32 first = thread / 32 * 1024 + thread % 32;
    if (first >= job.blocks)
        return;
    u32 c0 = job.c0 + first, c1 = job.c1 + (c0 < first), c2 = job.c2 + (c1 < job.c1), c3 = job.c3 + (c2 < job.c2);
    u32 s[128], carry = 0;
#pragma unroll
    for (int i = 0; i < 32; i++) {
        u32 low = c0 + 32 * i;
        // Words are transposed as they are stored, and a counter is big-endian.
        s[96 + i] = __byte_perm(low, 0, 0x0123);
        carry |= (u32)(low < c0) << i;
    }
    transpose(s + 96);
    u32 carry1 = c1 == 0xffffffff ? carry : 0, carry2 = c2 == 0xffffffff ? carry1 : 0;
    counter_word(c1, carry, s + 64);
    counter_word(c2, carry1, s + 32);
    counter_word(c3, carry2, s);
#pragma unroll
    for (int i = 0; i < 128; i++)
        s[i] ^= keys[i];
#pragma unroll 1
    for (u32 round = 1; round < job.rounds; round++)
        middle_round(s, keys + 128 * round);
    last_round(s, keys + 128 * job.rounds);
#pragma unroll
    for (int word = 0; word < 4; word++)
        transpose(s + 32 * word);
#pragma unroll
    for (int i = 0; i < 32; i++) {
        u32 at = first + 32 * i;
        if (at < job.blocks) {
            uint4 given = source[at];
            goal[at] = uint4{s[i] ^ given.x, s[32 + i] ^ given.y, s[64 + i] ^ given.z, s[96 + i] ^ given.w};
        }
    }
}
