module portbench/sd_card

go 1.18

require tinygo.org/x/drivers v0.22.0
