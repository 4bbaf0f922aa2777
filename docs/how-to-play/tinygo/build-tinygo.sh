#!/bin/sh
# Builds TinyGo 0.25.0 from its public sources with the packages of Debian 12, into a new folder:
#
#     sh docs/how-to-play/tinygo/build-tinygo.sh ~/tinygo
#     PATH=~/tinygo/bin:$PATH tinygo version
#
# It takes some minutes, and Go fetches its modules. CLONES=FOLDER takes FOLDER/tinygo-org/tinygo and
# FOLDER/raspberrypi/pico-sdk, clones with their tags, in place of github.com. Only boards with a Cortex-M0+ are built
# for: newlib and libgcc are Debian's of that core, in place of picolibc and compiler-rt, which TinyGo would compile from
# submodules. So stacks are not sized by the linker: each goroutine has 2 KB (default-stack-size in targets/*.json).
set -eu

fail() {
    echo "build-tinygo.sh: $1" >&2
    exit 1
}

# checkout REPOSITORY TAG COMMIT: into a folder of the repository's name
checkout() {
    git -c advice.detachedHead=false clone --quiet --depth 1 --branch "$2" "$base/$1" "${1#*/}"
    found=$(git -C "${1#*/}" rev-parse HEAD)
    [ "$found" = "$3" ] || fail "$base/$1: tag $2 is commit $found, not $3; take another clone"
}

[ $# -eq 1 ] || fail "takes one argument, the folder that it makes: sh build-tinygo.sh ~/tinygo"
[ ! -e "$1" ] || fail "$1 exists; name a new folder, or remove it"
libc=$(arm-none-eabi-gcc -mcpu=cortex-m0plus -print-file-name=libc.a 2>/dev/null) || libc=libc.a
llvm=/usr/lib/llvm-14/include
for each in /usr/bin/git:git /usr/bin/g++:g++ /usr/lib/go-1.19/bin/go:golang-1.19 $llvm/llvm-c/Core.h:llvm-14-dev \
    $llvm/clang-c/Index.h:libclang-14-dev /usr/bin/clang-14:clang-14 /usr/bin/ld.lld-14:lld-14 \
    /usr/bin/arm-none-eabi-gcc:gcc-arm-none-eabi "$libc:libnewlib-arm-none-eabi" \
    /usr/include/newlib/stdint.h:libnewlib-dev; do
    [ -e "${each%:*}" ] || fail "${each%:*} is missing; install it: apt-get install ${each#*:}"
done
libgcc=$(arm-none-eabi-gcc -mcpu=cortex-m0plus -print-libgcc-file-name)
base=https://github.com
[ -z "${CLONES:-}" ] || base=file://$(cd "$CLONES" && pwd)

mkdir -p "$(dirname "$1")"
target=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d "$target.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
cd "$work"
checkout tinygo-org/tinygo v0.25.0 f0391eac258ca07ed724526d9f838c4a48333572
checkout raspberrypi/pico-sdk 1.4.0 2e6142b15b8a75c1227dd3edbe839193b2bf9041
export PATH="/usr/lib/go-1.19/bin:$PATH" GOROOT=/usr/lib/go-1.19 GOFLAGS="-modcacherw -buildvcs=false"
cd tinygo
mkdir lib/pico-sdk
cp ../pico-sdk/src/rp2040/hardware_regs/rp2040.svd lib/pico-sdk
go run ./tools/gen-device-svd -source=pico-sdk lib/pico-sdk/ src/device/rp/
sed -i -e '/"rtlib"/d; /"libc"/d; /"automatic-stack-size"/d; /"-Werror"/d' \
    -e 's|"-fshort-enums",|&\n\t\t"-isystem/usr/include/newlib",|' \
    -e "s|\"--gc-sections\"|&,\n\t\t\"--start-group\", \"$libc\", \"$libgcc\", \"--end-group\"|" targets/cortex-m.json
go build -tags llvm14 -o build/tinygo .

cd "$work"
rm -rf pico-sdk tinygo/.git
mkdir bin
cat > bin/tinygo <<END
#!/bin/sh
export PATH="/usr/lib/go-1.19/bin:\$PATH" GOROOT=/usr/lib/go-1.19 TINYGOROOT='$target/tinygo'
exec '$target/tinygo/build/tinygo' "\$@"
END
chmod +x bin/tinygo
chmod 755 .
mv "$work" "$target"
