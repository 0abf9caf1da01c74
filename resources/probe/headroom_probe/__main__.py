# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
import sys

from headroom_probe.cli import main

sys.exit(main())
