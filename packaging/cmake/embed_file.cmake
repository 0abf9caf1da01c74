# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
# Run by headroom_embed() as a script. Short string literals side by side: compilers limit one literal's length.
file(READ ${INPUT} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
file(WRITE ${FOLDER}/${NAME}.h "#pragma once\n#include <string_view>\nnamespace headroom::embedded {\nextern const std::string_view ${NAME};\n}\n")
file(WRITE ${FOLDER}/${NAME}.cpp "#include \"embedded/${NAME}.h\"\nnamespace headroom::embedded {\nstatic const unsigned char data[] = {\n${bytes}0};\nconst std::string_view ${NAME}(reinterpret_cast<const char *>(data), ${size});\n}\n")
