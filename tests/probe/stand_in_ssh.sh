#!/bin/sh
# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Stands in for ssh: runs the remote command line on this machine, by a shell as sshd does. What is before -- is an option of ssh.
while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done
shift
host=$1
shift
[ "$host" != unreachable ] || { echo "ssh: connect to host unreachable port 22: No route to host" >&2; exit 255; }
echo "Welcome to $host"
exec sh -c "$*"
