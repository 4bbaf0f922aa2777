ARCH := -mcpu=cortex-m33 -mthumb
# Interrupts, and the alignment of a table of as many vectors and 16 exceptions.
VECTORS := -DINTERRUPTS=52 -DTABLE_BYTES=512 -DIMAGE_DEFINITION
UF2 := native_rp2350.uf2
FIRST :=
