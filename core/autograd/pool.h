// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace headroom::autograd {

/// Objects that stay where they are as long as the pool lives. They are made some at a time: a std::deque makes those of
/// more than 512 bytes one by one.
template<typename T>
class Pool
{
public:
    T &add()
    {
        if (m_used == perBlock) {
            m_blocks.push_back(std::make_unique<Block>());
            m_used = 0;
        }
        return (*m_blocks.back())[m_used++];
    }

    template<typename F>
    void forEach(F f)
    {
        for (std::size_t i = 0; i < m_blocks.size(); ++i)
            for (std::size_t k = 0, end = i + 1 < m_blocks.size() ? perBlock : m_used; k < end; ++k)
                f((*m_blocks[i])[k]);
    }

private:
    static constexpr std::size_t perBlock = 16;
    using Block = std::array<T, perBlock>;

    std::vector<std::unique_ptr<Block>> m_blocks;
    std::size_t m_used = perBlock; ///< of the last block
};

} // namespace headroom::autograd
