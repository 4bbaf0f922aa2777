ARCH := -mcpu=cortex-m0plus -mthumb
# Interrupts, and the alignment of a table of as many vectors and 16 exceptions.
VECTORS := -DINTERRUPTS=26 -DTABLE_BYTES=256
UF2 := native.uf2
FIRST := boot2.bin
