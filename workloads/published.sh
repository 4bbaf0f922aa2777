# For scripts that build published programs with pico-sdk: sourced, it defines `fail` and `needs`, and `base`, where
# repositories are (CLONES=FOLDER in place of github.com).

fail() {
    echo "${0##*/}: $1" >&2
    exit 1
}

# needs COMMAND:PACKAGE ...
needs() {
    for each in "$@" git:git cmake:cmake make:make arm-none-eabi-g++:gcc-arm-none-eabi python3:python3; do
        command -v "${each%:*}" >/dev/null || fail "${each%:*} is missing; install it: apt-get install ${each#*:}"
    done
    [ -e "$(arm-none-eabi-g++ -print-file-name=libstdc++.a)" ] ||
        fail "the C++ library is missing; install it: apt-get install libstdc++-arm-none-eabi-newlib"
}

base=https://github.com
if [ -n "${CLONES:-}" ]; then
    [ -d "$CLONES" ] || fail "CLONES is $CLONES, which is no folder; name one with clones"
    base=file://$(cd "$CLONES" && pwd)
fi
