#!/bin/sh
# Builds the published program, elehobica/pico_fatfs_test on pico-sdk 1.3.0, with the packages of Debian 12:
#
#     sh workloads/sd_card/build-published.sh pico-fatfs-c.uf2
#
# CLONES=FOLDER takes FOLDER/elehobica/pico_fatfs_test and FOLDER/raspberrypi/pico-sdk, clones with their tags and
# branches, in place of github.com. pico-sdk writes the day of the build into the image, so its hash is not fixed.
set -eu

. "$(dirname "$0")/../published.sh"

[ $# -eq 1 ] || fail "takes one argument, the image that it writes: sh build-published.sh pico-fatfs-c.uf2"
needs g++:g++

mkdir -p "$(dirname "$1")"
target=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
cd "$work"
git -c advice.detachedHead=false clone --quiet --depth 1 --branch 1.3.0 "$base/raspberrypi/pico-sdk"
git clone --quiet "$base/elehobica/pico_fatfs_test" # small
git -C pico_fatfs_test checkout --quiet 1b808a990abaed4daa180d31e013d1a51c0d9b1f
found=$(git -C pico-sdk rev-parse HEAD)
[ "$found" = ea79d29cd6e5f124b964b01b76b28846c017e205 ] ||
    fail "$base/raspberrypi/pico-sdk: tag 1.3.0 is commit $found; take another clone"
[ -e pico_fatfs_test/CMakeLists.txt ] || mv pico_fatfs_test/CmakeLists.txt pico_fatfs_test/CMakeLists.txt # its author's PC takes both
cmake -S pico_fatfs_test -B build -DCMAKE_BUILD_TYPE=Release >build.log 2>&1 && make -C build >>build.log 2>&1 || {
    tail -n 20 build.log >&2
    fail "the program was not built; see the lines above"
}
cp build/fatfs_test.uf2 "$target.new"
mv "$target.new" "$target"
