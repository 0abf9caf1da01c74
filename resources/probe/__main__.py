# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Python runs when it is given this folder, or the single file made of it (a zip archive), as a program."""

from headroom_probe.cli import end, main

end(main())
