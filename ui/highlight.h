// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"

#include <QObject>
#include <QString>

#include <optional>

namespace headroom {

/// What the views point at together: a component and, where the view knows it, one row of it.
struct HighlightTarget {
    std::optional<Component> component; ///< unset: nothing
    QString row;                        ///< label of a breakdown row or a tensor; empty: the whole component

    bool operator==(const HighlightTarget &) const = default;
};

/// Links hover and selection of charts, legend and breakdown: a view reports where the pointer or the selection is, every
/// view (the reporting one too) draws current() on changed(). Hovering passes over the selection and leaves it behind.
class Highlight : public QObject
{
    Q_OBJECT
public:
    explicit Highlight(QObject *parent = nullptr);

    /// What to emphasise: the hovered target, else the selected one.
    const HighlightTarget &current() const { return m_hovered.component ? m_hovered : m_selected; }
    const HighlightTarget &hovered() const { return m_hovered; }
    const HighlightTarget &selected() const { return m_selected; }

    void setHovered(const HighlightTarget &target);
    void clearHovered() { setHovered({}); }
    void setSelected(const HighlightTarget &target);
    void clearSelected() { setSelected({}); }

signals:
    /// current() is another one.
    void changed();
    /// selected() is another one: views that scroll or expand do it here, never while the pointer merely passes.
    void selectionChanged();

private:
    HighlightTarget m_hovered;
    HighlightTarget m_selected;
};

} // namespace headroom
