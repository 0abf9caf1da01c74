// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/phase_label.h"

#include <QCoreApplication>

namespace headroom {

QString phaseLabel(Phase phase)
{
    switch (phase) {
    case Phase::Load: return QCoreApplication::translate("headroom::Phase", "load");
    case Phase::Forward: return QCoreApplication::translate("headroom::Phase", "forward");
    case Phase::Loss: return QCoreApplication::translate("headroom::Phase", "loss");
    case Phase::Backward: return QCoreApplication::translate("headroom::Phase", "backward");
    case Phase::Optimizer: return QCoreApplication::translate("headroom::Phase", "optimizer");
    case Phase::Idle: return QCoreApplication::translate("headroom::Phase", "idle");
    }
    return {};
}

} // namespace headroom
