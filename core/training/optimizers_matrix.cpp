// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Optimizers that treat matrices apart: torch/optim/_adafactor.py, torch/optim/_muon.py (torch 2.13).
#include "core/training/optimizer_state.h"

#include "core/autograd/operators.h"

#include <utility>

namespace headroom::training {

using namespace autograd;

namespace {

constexpr const char *normOperator = "aten.linalg_vector_norm.default";

/// A norm that is read on the host and gone.
void readNorm(const Tensor &t) { const Tensor norm = t->tape->empty({}, t.dtype(), normOperator); }

/// torch.norm(t, dim, keepdim=True): dim -1 gives [m, 1], dim -2 gives [1, n].
Tensor normOver(const Tensor &t, int dim)
{
    Dims sizes = t.sizes();
    sizes[sizes.rank() + dim] = 1;
    return t->tape->empty(sizes, t.dtype(), normOperator);
}

/// row_var @ col_var
Tensor outerProduct(const Tensor &row, const Tensor &column) { return row.rank() > 2 ? bmm(row, column) : mm(row, column); }

/// row_var.mean(dim=-2, keepdim=True)
Tensor meanOfRows(const Tensor &row)
{
    Dims sizes = row.sizes();
    sizes[sizes.rank() - 2] = 1;
    return row->tape->empty(sizes, row.dtype(), "aten.mean.dim");
}

class Adafactor : public Optimizer
{
public:
    Adafactor(Tape &tape, bool forLoop)
        : m_tape(tape)
        , m_forLoop(forLoop)
    {}

    void step(const std::vector<Tensor> &parameters) override
    {
        m_states.resize(parameters.size());
        for (std::size_t i = 0; i < parameters.size(); ++i) { // _init_group
            Tape::ParameterScope scope(m_tape, parameters[i]);
            if (!m_states[i].row && !m_states[i].variance)
                initState(m_states[i], Tensor(parameters[i]->grad));
        }
        if (m_forLoop)
            forLoopStep(parameters);
        else
            foreachStep(parameters);
    }

private:
    struct State {
        Tensor row, column; ///< of a matrix [m, n]: [m, 1] and [1, n]; of joined experts' [e, m, n]: [e, m, 1] and [e, 1, n]
        Tensor variance;    ///< of a vector
    };
    using Members = std::vector<std::size_t>;

    void initState(State &state, const Tensor &gradient)
    {
        if (gradient.rank() < 2) {
            state.variance = keepStateLike(gradient, "aten.zeros_like.default");
            return;
        }
        Dims row = gradient.sizes(), column = gradient.sizes();
        row[row.rank() - 1] = 1;
        column[column.rank() - 2] = 1;
        state.row = keepState(m_tape, row, contiguousStrides(row), gradient.dtype(), "aten.new_zeros.default");
        state.column = keepState(m_tape, column, contiguousStrides(column), gradient.dtype(), "aten.new_zeros.default");
    }

    /// _single_tensor_adafactor. Its variables are bound anew by the next parameter.
    void forLoopStep(const std::vector<Tensor> &parameters)
    {
        Tensor rowMean, columnMean, squared, estimate, update;
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            Tape::ParameterScope scope(m_tape, parameters[i]);
            const Tensor gradient(parameters[i]->grad);
            const State &state = m_states[i];
            readNorm(parameters[i]);
            if (state.row) {
                rowMean = normOver(gradient, -1);
                columnMean = normOver(gradient, -2);
                estimate = outerProduct(state.row, state.column);
                const Tensor mean = meanOfRows(state.row);
            } else {
                squared = unary(gradient, "aten.mul.Tensor");
                estimate = unary(state.variance, "aten.clone.default");
            }
            update = estimate;
            readNorm(update);
        }
    }

    /// _multi_tensor_adafactor, in each dtype's group the matrices and the vectors apart, in the order of their first member.
    void foreachStep(const std::vector<Tensor> &parameters)
    {
        std::vector<Tensor> updates;
        for (const auto &[dtype, members] : groupsByDtype(parameters)) {
            std::vector<std::pair<bool, Members>> byRank;
            for (const std::size_t i : members)
                membersOf(byRank, m_states[i].row.defined()).push_back(i);
            for (const auto &[matrices, group] : byRank) {
                forEach(parameters, group, [&](std::size_t i) { readNorm(parameters[i]); });
                std::vector<Tensor> estimates = matrices ? matrixEstimates(parameters, group) : vectorEstimates(parameters, group);
                updates = std::move(estimates);
                std::size_t k = 0;
                forEach(parameters, group, [&](std::size_t) { readNorm(updates[k++]); });
            }
        }
    }

    template<typename Key>
    static Members &membersOf(std::vector<std::pair<Key, Members>> &groups, Key key)
    {
        for (auto &[known, members] : groups)
            if (known == key)
                return members;
        return groups.emplace_back(key, Members{}).second;
    }

    template<typename F>
    void forEach(const std::vector<Tensor> &parameters, const Members &group, F f)
    {
        for (const std::size_t i : group) {
            Tape::ParameterScope scope(m_tape, parameters[i]);
            f(i);
        }
    }

    std::vector<Tensor> matrixEstimates(const std::vector<Tensor> &parameters, const Members &group)
    {
        for (const int dim : {-1, -2}) { // row_means, col_means
            std::vector<Tensor> means;
            forEach(parameters, group, [&](std::size_t i) { means.push_back(normOver(Tensor(parameters[i]->grad), dim)); });
        }
        std::vector<Tensor> estimates, rowMeans;
        forEach(parameters, group, [&](std::size_t i) { estimates.push_back(outerProduct(m_states[i].row, m_states[i].column)); });
        forEach(parameters, group, [&](std::size_t i) { rowMeans.push_back(meanOfRows(m_states[i].row)); });
        return estimates;
    }

    std::vector<Tensor> vectorEstimates(const std::vector<Tensor> &parameters, const Members &group)
    {
        {
            std::vector<Tensor> squares;
            forEach(parameters, group,
                    [&](std::size_t i) { squares.push_back(unary(Tensor(parameters[i]->grad), "aten._foreach_mul.List")); });
        }
        std::vector<Tensor> estimates;
        forEach(parameters, group, [&](std::size_t i) { estimates.push_back(unary(m_states[i].variance, "aten.clone.default")); });
        return estimates;
    }

    Tape &m_tape;
    bool m_forLoop;
    std::vector<State> m_states;
};

/// Muon takes matrices alone; what else is trained is left to another optimizer and not stepped here.
class Muon : public Optimizer
{
public:
    explicit Muon(Tape &tape)
        : m_tape(tape)
    {}

    void step(const std::vector<Tensor> &parameters) override
    {
        m_buffers.resize(parameters.size());
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            Tape::ParameterScope scope(m_tape, parameters[i]);
            const Tensor gradient(parameters[i]->grad);
            if (!m_buffers[i] && takes(parameters[i]))
                m_buffers[i] = keepStateLike(gradient, "aten.zeros_like.default");
        }
        Tensor update; // bound anew by the next parameter
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            if (!takes(parameters[i]))
                continue;
            Tape::ParameterScope scope(m_tape, parameters[i]);
            update = unary(Tensor(parameters[i]->grad), "aten.lerp.Scalar"); // Nesterov's
            update = orthogonalized(update);
        }
    }

    bool takes(const Tensor &parameter) const override { return parameter.rank() == 2; }

private:
    /// _zeropower_via_newtonschulz: five steps in bf16 on the matrix with its shorter side first.
    Tensor orthogonalized(const Tensor &momentum)
    {
        Tensor ortho = to(momentum, DType::BFloat16);
        const bool tall = momentum.size(0) > momentum.size(1);
        if (tall)
            ortho = transposed2d(ortho);
        {
            const Tensor norm = m_tape.empty({}, DType::BFloat16, normOperator);
            const Tensor clamped = unary(norm, "aten.clamp.default");
        }
        Tensor gram, gramUpdate;
        for (int k = 0; k < 5; ++k) {
            gram = mm(ortho, transposed2d(ortho));
            gramUpdate = m_tape.empty(gram.sizes(), DType::BFloat16, "aten.addmm.default");
            ortho = m_tape.empty(ortho.sizes(), DType::BFloat16, "aten.addmm.default");
        }
        return tall ? transposed2d(ortho) : ortho;
    }

    Tape &m_tape;
    std::vector<Tensor> m_buffers;
};

} // namespace

std::unique_ptr<Optimizer> makeAdafactor(Tape &tape, bool forLoop) { return std::make_unique<Adafactor>(tape, forLoop); }

std::unique_ptr<Optimizer> makeMuon(Tape &tape) { return std::make_unique<Muon>(tape); }

} // namespace headroom::training
