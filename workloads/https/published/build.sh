#!/bin/sh
# Builds the published program, pico-examples' TLS client for a Pico W, with the packages of Debian 12:
#
#     sh workloads/https/published/build.sh ecdsa-p256 Release tls-client.uf2
#     portbench run --workload https --board pico-w --runtime tls-client.uf2 -s server_port=443
#
# The first word is the key of the server that it asks for a page of 1024 bytes, the second CMake's build type; a fourth,
# twice, makes it shake hands once before and resume that session. SDK=2.2.0 takes that pico-sdk (mbedTLS 3.6.2) in
# place of 2.1.0 (2.28.8), the release of the published figures. CLONES=FOLDER takes FOLDER/OWNER/NAME, clones, in place
# of github.com. The program stays when it has its page; as published it returns from main, which stops the core. It
# joins the emulated network; a real one's name and passphrase are WIFI_SSID and WIFI_PASSWORD, which are then in the
# image.
set -eu

. "$(dirname "$0")/../../published.sh"

# checkout REPOSITORY COMMIT FOLDER
checkout() {
    git init --quiet "$3"
    git -C "$3" fetch --quiet --depth 1 "$base/$1" "$2" || fail "$base/$1: has no commit $2; name clones with CLONES"
    git -C "$3" -c advice.detachedHead=false checkout --quiet FETCH_HEAD
}

[ $# -ge 3 ] || fail "takes three arguments, key, build type and image: sh build.sh ecdsa-p256 Release tls-client.uf2"
needs
here=$(cd "$(dirname "$0")" && pwd)
case ${SDK:-2.1.0} in
2.2.0)
    sdk=a1438dff1d38bd9c65dbd693f0e5db4b9ae91779 examples=4c3a3dc0196dd426fddd709616d0da984e027bab
    lwip=77dcd25a72509eb83f72b033d219b1d40cd8eb95 mbedtls=107ea89daaefb9867ea9121002fbbdf926780e98
    radio=dd7568229f3bf7a37737b9e1ef250c26efe75b23 usb=86ad6e56c1700e85f1c5678607a762cfe3aa2f47
    ;;
2.1.0)
    sdk=95ea6acad131124694cda1c162c52cd30e0aece0 examples=b6ac07f1946271de2817f94d8ffc0425ecb7c2a9
    lwip=0a0452b2c39bdd91e252aef045c115f88f6ca773 mbedtls=5a764e5555c64337ed17444410269ff21cb617b1
    radio=cf924bb04c8984675ca0fc2178f082e404e048c3 usb=5217cee5de4cd555018da90f9f1bcc87fb1c1d3a
    ;;
*) fail "SDK is $SDK; use 2.1.0 or 2.2.0" ;;
esac

mkdir -p "$(dirname "$3")"
target=$(cd "$(dirname "$3")" && pwd)/$(basename "$3")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
cd "$work"
checkout raspberrypi/pico-sdk $sdk sdk
checkout raspberrypi/pico-examples $examples examples
checkout lwip-tcpip/lwip $lwip sdk/lib/lwip
checkout Mbed-TLS/mbedtls $mbedtls sdk/lib/mbedtls
checkout georgerobotics/cyw43-driver $radio sdk/lib/cyw43-driver
checkout hathach/tinyusb $usb sdk/lib/tinyusb
python3 -c 'import portbench.firmware.uf2' || fail "python3 has no portbench; activate its environment"
sed -i -e "s|#define TLS_CLIENT_SERVER .*|#define TLS_CLIENT_SERVER \"$1-chain1.portbench.test\"|" \
    -e 's|"GET [^ ]*|"GET /1024|' -e 's|return pass ? 0 : 1;|for (;;) sleep_ms(1000);|' \
    examples/pico_w/wifi/tls_client/picow_tls_client.c
cmake -S "$here" -B build -DCMAKE_BUILD_TYPE="$2" -DPICO_SDK_PATH="$work/sdk" -DEXAMPLES="$work/examples" \
    -DWIFI_SSID="${WIFI_SSID:-portbench}" -DWIFI_PASSWORD="${WIFI_PASSWORD:-emulated}" -DTWICE="${4:-}" >build.log 2>&1 &&
    make -C build >>build.log 2>&1 || {
    tail -n 20 build.log >&2
    fail "the program was not built; see the lines above"
}
python3 -c 'import sys; from pathlib import Path; from portbench.firmware import uf2
Path(sys.argv[2]).write_bytes(uf2.build(Path(sys.argv[1]).read_bytes()))' build/client.bin "$target.new"
mv "$target.new" "$target"
