// Writes and reads blocks of an SD card as the client in C does (workloads/sd_card/native), by the driver of
// tinygo.org/x/drivers. The result is on UART 0 (GP0).
package main

import (
	"bytes"
	"machine"
	"time"

	"tinygo.org/x/drivers/sdcard"
)

const (
	first  = 65536 // block, far behind what formats a card
	blocks = 9765  // 5 MB
	spiHz  = 31_250_000
)

// stop reports an error again and again, for a reader who comes late.
func stop(what string, err error) {
	for {
		println(what, err.Error())
		time.Sleep(time.Second)
	}
}

// measure returns the time of all calls, and of the shortest and the longest.
func measure(call func(block uint32, data []byte) error, pattern, buffer []byte) (all, least, most time.Duration) {
	least = time.Hour
	started := time.Now()
	for number := uint32(0); number < blocks; number++ {
		pattern[0], pattern[1] = byte(number), byte(number>>8)
		before := time.Now()
		err := call(first+number, buffer)
		took := time.Since(before)
		if err != nil {
			stop("block", err)
		}
		if !bytes.Equal(buffer, pattern) {
			println("block", number, "differs")
		}
		if took < least {
			least = took
		}
		if took > most {
			most = took
		}
	}
	return time.Since(started), least, most
}

func report(way string, all, least, most time.Duration) {
	println(way, blocks*512*1000/all.Microseconds(), "KB/s;", most.Microseconds(), "us at most,",
		least.Microseconds(), "at least,", all.Microseconds()/blocks, "on the average")
}

func main() {
	sck, mosi, miso, cs := machine.GP10, machine.GP11, machine.GP12, machine.GP13
	card := sdcard.New(machine.SPI1, sck, mosi, miso, cs)
	if err := card.Configure(); err != nil {
		stop("card", err)
	}
	machine.SPI1.SetBaudRate(spiHz)
	pattern := make([]byte, 512)
	for i := range pattern {
		pattern[i] = byte(i * 7)
	}
	all, least, most := measure(card.WriteData, pattern, pattern)
	report("write", all, least, most)
	all, least, most = measure(card.ReadData, pattern, make([]byte, 512))
	report("read", all, least, most)
}
