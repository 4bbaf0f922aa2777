//! Plays the ping-pong: Rust (embassy) on a Pico W, with TCP on the RP2040 and the CYW43439 as a radio.
#![no_std]
#![no_main]
use core::fmt::Write;
use cyw43_firmware::{CYW43_43439A0, CYW43_43439A0_CLM};
use cyw43_pio::{DEFAULT_CLOCK_DIVIDER, PioSpi};
use embassy_futures::join::join3;
use embassy_net::{Ipv4Address, StackResources, tcp::TcpSocket};
use embassy_rp::{bind_interrupts, gpio::*, peripherals::PIO0, pio};
use heapless::String;
use panic_halt as _;
const SERVER: (Ipv4Address, u16) = (Ipv4Address::new(192, 168, 50, 1), 5000);
bind_interrupts!(struct Irqs { PIO0_IRQ_0 => pio::InterruptHandler<PIO0>; });

#[embassy_executor::main]
async fn main(_spawner: embassy_executor::Spawner) {
    let p = embassy_rp::init(Default::default());
    let (on, cs) = (Output::new(p.PIN_23, Level::Low), Output::new(p.PIN_25, Level::High));
    let mut b = pio::Pio::new(p.PIO0, Irqs);
    let bus = PioSpi::new(&mut b.common, b.sm0, DEFAULT_CLOCK_DIVIDER, b.irq0, cs, p.PIN_24, p.PIN_29, p.DMA_CH0);
    let mut state = cyw43::State::new();
    let (device, mut control, radio) = cyw43::new(&mut state, on, bus, CYW43_43439A0).await;
    let (mut sockets, dhcp) = (StackResources::<3>::new(), embassy_net::Config::dhcpv4(Default::default()));
    let (stack, mut network) = embassy_net::new(device, dhcp, &mut sockets, 1);
    let games = async {
        control.init(CYW43_43439A0_CLM).await;
        control.set_power_management(cyw43::PowerManagementMode::None).await;
        let ssid = option_env!("PORTBENCH_WIFI_SSID").unwrap_or("portbench");
        let key = cyw43::JoinOptions::new(option_env!("PORTBENCH_WIFI_PASSPHRASE").unwrap_or("emulated").as_bytes());
        while control.join(ssid, key.clone()).await.is_err() {}
        stack.wait_config_up().await;
        let (mut receive, mut send) = ([0; 2048], [0; 2048]);
        loop {
            let mut socket = TcpSocket::new(stack, &mut receive, &mut send);
            if socket.connect(SERVER).await.is_ok() {
                let _ = play(&mut socket).await;
            }
            socket.abort();
            embassy_time::Timer::after_millis(100).await;
        }
    };
    join3(radio.run(), network.run(), games).await;
}

/// One game, until the PC closes or says something wrong.
async fn play(socket: &mut TcpSocket<'_>) -> Option<()> {
    let (mut text, mut answer) = (String::<10>::new(), [0; 10]);
    for number in (1u32..).step_by(2) {
        write!(text, "{number}").ok()?;
        socket.write(text.as_bytes()).await.ok()?;
        text.clear();
        write!(text, "{}", number + 1).ok()?;
        let mut got = 0;
        while got < text.len() {
            got += socket.read(&mut answer[got..]).await.ok().filter(|&size| size > 0)?;
        }
        (&answer[..got] == text.as_bytes()).then(|| text.clear())?;
    }
    None
}
