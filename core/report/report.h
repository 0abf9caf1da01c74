// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"
#include "core/measure/comparison.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

struct ReportTable {
    std::string title; ///< may be empty
    std::vector<std::string> headings;
    std::vector<bool> numeric;                  ///< per column: right-aligned
    std::vector<std::vector<std::string>> rows; ///< as many cells as headings
    std::vector<double> shares = {};            ///< of each row, in percent of allocated; empty: rows are no shares of anything
};

/// Where the PDF draws a chart; the text formats say so in words and give the table behind it.
enum class ReportChart : std::uint8_t { None, MemoryBars, Timeline };

struct ReportSection {
    std::string heading;
    std::vector<std::string> paragraphs;
    ReportChart chart = ReportChart::None;
    std::vector<ReportTable> tables;
    std::vector<std::string> listings; ///< shown as they are in a fixed-pitch font, last: command lines, the plan's JSON
};

/// A report on one plan, independent of how it is written: what is planned, verdict per GPU, components, phases,
/// breakdown with rules and sources, notes and assumptions, how to reproduce.
struct Report {
    std::string title;
    std::string subtitle; ///< one sentence: the verdict of the worst GPU, or the peak
    std::vector<ReportSection> sections;
};

/// With `runs`, what was measured stands beside what is predicted in a section of its own.
Report buildReport(const Estimate &estimate, ByteUnit unit = ByteUnit::Binary, std::span<const MeasuredRun> runs = {});

/// The plan's name; where it has none, its model and method: "Qwen/Qwen3-8B, LoRA of rank 16".
std::string planTitle(const TrainingPlan &plan);

/// The sentence that stands above everything else: the verdict of the GPU with the least headroom, or the peak where
/// the plan names no GPU.
std::string summarySentence(const Estimate &estimate, ByteUnit unit = ByteUnit::Binary);

/// The five components at the peak, then allocated, cache, reserved, outside PyTorch and device: later steps, first step,
/// and what of it lives between two steps.
ReportTable componentsTable(const Estimate &estimate, ByteUnit unit = ByteUnit::Binary);

/// The highest allocated and reserved memory of each phase, in later steps and in the first.
ReportTable phasesTable(const Estimate &estimate, ByteUnit unit = ByteUnit::Binary);

/// How far predictions of this kind have been from measurements, in one sentence.
std::string bandSentence(const Band &band);

/// "Fits on RTX 4090 24 GB: 3.1 GiB to spare." / "Does not fit on ...: short by 1.2 GiB, in backward." and so on: the
/// sentence a person acts on, the same in window, report and command line.
std::string verdictSentence(const GpuEstimate &gpu, ByteUnit unit = ByteUnit::Binary);

std::string writeMarkdown(const Report &report);
/// One row a figure over all plans: plan, step, figure, bytes (RFC 4180). Figures are named as in the estimate format
/// ("peak.components.weights"); step is "later", "first", or empty for what holds for both.
std::string writeCsv(std::span<const std::shared_ptr<const Estimate>> estimates);
/// A field of such a table: quoted where it holds a comma, a quote or a line break.
std::string csvField(std::string_view text);
/// An array of {plan, estimate} objects; a single plan gives the object itself.
std::string writeJson(std::span<const std::shared_ptr<const Estimate>> estimates);

} // namespace headroom
