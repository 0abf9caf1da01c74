// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The choice of kernel follows bitsandbytes/backends/cuda/ops.py (0.50.2) branch by branch, in its words: m tokens, n output
// and k input features, a wave being as many blocks of 64 outputs as the GPU has multiprocessors.
#include "core/network/gemm_4bit.h"

namespace headroom::network {

namespace {

constexpr std::int64_t alwaysFused = 4, neverFused = 1536, block = 64, smallWeight = 4 << 20;

struct Product {
    std::int64_t m, n, k;
    std::int64_t blocks, sms;
    int major, minor;

    bool sm(int wantedMajor, int wantedMinor) const { return major == wantedMajor && minor == wantedMinor; }
    bool tallK() const { return k > n * 2; }
};

bool blackwellDataCentre(const Product &p)
{
    if (p.blocks >= p.sms * 3)
        return p.m <= 32;
    return p.blocks >= p.sms && p.k < p.n && p.m <= 8;
}

/// Weights below 4 Mi elements: dequantisation's overhead dominates.
bool smallWeights(const Product &p)
{
    const bool sm75 = p.sm(7, 5), sm80 = p.sm(8, 0), hbm = sm80 || p.major == 9;
    if (p.k * 2 < p.n) {
        if (hbm) {
            const bool lowWave = p.blocks * 3 < p.sms;
            if (sm80)
                return p.m <= (lowWave ? 1536 : 512);
            return p.m <= (lowWave ? 512 : 320);
        }
        if (sm75) {
            if (p.blocks >= p.sms * 3)
                return p.m <= 320;
            if (p.k >= 1024)
                return p.m <= 64;
            return p.m <= (p.k >= 704 ? 96 : 320);
        }
        if (p.blocks >= p.sms)
            return p.m <= 320;
        return p.m <= (p.blocks * p.k > p.sms * 320 ? 192 : 320);
    }
    const bool quarterWave = p.blocks * 4 <= p.sms;
    if (sm80 && quarterWave) {
        if (p.k >= p.n)
            return p.m <= (p.blocks * 8 <= p.sms ? 32 : 128);
        return p.m <= 384;
    }
    if (sm75 && p.blocks < p.sms && p.m > 8)
        return p.m <= 64;
    if (quarterWave)
        return p.m <= (p.k < p.n || hbm ? 32 : 23);
    return p.blocks * 2 <= p.sms && p.m <= 16;
}

/// Five to seven tokens.
bool fewTokens(const Product &p)
{
    const bool sm90 = p.major == 9, hbm = p.sm(8, 0) || sm90;
    if (!hbm || p.m < 6 || p.blocks < (sm90 ? 36 : 48))
        return true;
    const bool below75 = p.blocks * 4 < p.sms * 3, below60 = p.blocks * 5 < p.sms * 3;
    if (p.k > p.n && below75)
        return false;
    if (p.k == p.n)
        return sm90 ? !(below75 && !below60) : !below60;
    return true;
}

bool turing(const Product &p)
{
    if (p.blocks >= p.sms * 3)
        return p.m <= (p.k < p.n ? 128 : 64);
    return p.m <= (p.blocks >= p.sms / 2 ? 64 : 32);
}

bool a100(const Product &p)
{
    if (p.blocks >= p.sms * 3)
        return p.m <= 128;
    if (p.blocks >= p.sms)
        return p.m <= (p.k < p.n ? 64 : 32);
    if (p.k >= p.n * 3 && p.blocks * 4 > p.sms)
        return false;
    if (p.k == p.n && p.blocks >= 48 && p.blocks * 5 < p.sms * 3)
        return false;
    if (p.blocks * 2 < p.sms) {
        if (p.k <= p.n)
            return p.m <= 128;
        if (p.blocks * 3 >= p.sms)
            return false;
    }
    return p.m <= (p.blocks >= p.sms / 2 && p.k < p.n ? 128 : 16);
}

bool ampereConsumer(const Product &p)
{
    if (p.blocks >= p.sms)
        return p.m <= 128;
    return p.m <= (p.blocks >= p.sms / 2 ? 64 : 16);
}

bool hopper(const Product &p)
{
    if (p.blocks >= p.sms * 3)
        return p.m <= 64;
    if (p.blocks >= p.sms * 2)
        return p.m <= 48;
    if (p.blocks >= p.sms)
        return p.m <= 32;
    if (p.blocks < p.sms / 2 || (p.k >= p.n && p.blocks * 4 < p.sms * 3))
        return false;
    return p.m <= 16;
}

bool blackwellConsumer(const Product &p)
{
    if (p.blocks >= p.sms * 3)
        return p.m <= 256;
    if (p.blocks >= p.sms * 2)
        return p.m <= 128;
    if (p.blocks * 5 >= p.sms * 4)
        return p.m <= (p.k >= p.n ? 96 : 64);
    if (p.blocks >= p.sms)
        return p.m <= 64;
    if (p.blocks >= p.sms / 2)
        return p.m <= (p.k * 2 >= p.n && p.blocks >= 128 ? 64 : 8);
    return p.m <= (p.tallK() && p.blocks > 64 ? 16 : 8);
}

/// Ada Lovelace, and what has no rules of its own.
bool ada(const Product &p)
{
    if (p.blocks >= p.sms * 3)
        return p.m <= 256;
    if (p.blocks >= p.sms * 2)
        return p.m <= 128;
    if (p.blocks * 5 >= p.sms * 4) {
        if (p.tallK() || p.blocks >= 200)
            return p.m <= 128;
        if (p.k >= p.n)
            return p.m <= (p.sms >= 60 ? 128 : 32);
        return p.m <= 64;
    }
    if (p.blocks >= p.sms / 2) {
        if (p.tallK())
            return p.m <= 64;
        return p.m <= (p.blocks >= 64 ? 8 : 32);
    }
    if (p.k > p.n && p.blocks <= 48)
        return p.m <= (p.k >= p.n * 3 ? 12 : 10);
    return p.m <= (p.tallK() || p.blocks < 48 ? 16 : 8);
}

} // namespace

bool fusedGemm4bit(const GpuProperties &gpu, DType dtype, std::int64_t tokens, std::int64_t out, std::int64_t in)
{
    if (tokens > neverFused || in % block != 0)
        return false;
    if (tokens <= alwaysFused)
        return true;
    const Product p{tokens, out, in, (out + block - 1) / block, gpu.multiprocessors, gpu.computeMajor, gpu.computeMinor};
    if (dtype == DType::Float32 || p.major < 7 || (p.major == 7 && (p.minor < 5 || dtype != DType::Float16)))
        return p.m < 8; // no tensor-core kernel
    if (p.sm(8, 7) || p.major == 11)
        return false;
    if (p.major == 10)
        return blackwellDataCentre(p);
    if (p.n * p.k < smallWeight)
        return smallWeights(p);
    if (p.m > 512)
        return false;
    if (p.m < 8)
        return fewTokens(p);
    if (p.sm(7, 5))
        return turing(p);
    if (p.sm(8, 0))
        return a100(p);
    if (p.sm(8, 6))
        return ampereConsumer(p);
    if (p.major == 9)
        return hopper(p);
    if (p.sm(12, 1) && p.blocks >= p.sms)
        return p.m <= 256;
    if (p.sm(12, 0))
        return blackwellConsumer(p);
    return ada(p);
}

} // namespace headroom::network
