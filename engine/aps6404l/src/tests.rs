use super::*;

/// Shifts bytes out on `lines` lines and returns the bytes that came in at the same time; the other lines are pulled up.
fn shift(chip: &mut Aps6404l, lines: u32, bytes: &[u8]) -> Vec<u8> {
    let mask = (1u8 << lines) - 1;
    let byte = |chip: &mut Aps6404l, &byte: &u8| {
        (0..8 / lines).rev().fold(0, |read: u8, step| {
            let io = chip.clock(byte >> (step * lines) & mask | 0xf & !mask);
            if lines == 1 { read << 1 | io >> 1 & 1 } else { read << lines | io & mask }
        })
    };
    bytes.iter().map(|out| byte(chip, out)).collect()
}

/// One selection; `parts`: lines and bytes.
fn transfer(chip: &mut Aps6404l, parts: &[(u32, &[u8])]) -> Vec<u8> {
    chip.select(true);
    let read = parts.iter().map(|&(lines, bytes)| shift(chip, lines, bytes)).last().unwrap_or_default();
    chip.select(false);
    read
}

#[test]
fn it_tells_its_number_in_spi_mode_only() {
    let mut chip = Aps6404l::default();
    let id = |chip: &mut Aps6404l| transfer(chip, &[(1, &[0x9f, 0, 0, 0]), (1, &[0xff; 3])]);
    assert_eq!(id(&mut chip), [0x0d, 0x5d, 0x46]);
    transfer(&mut chip, &[(1, &[0x35])]);
    assert_eq!(id(&mut chip), [0xff; 3]);
    transfer(&mut chip, &[(4, &[0xf5])]);
    assert_eq!(id(&mut chip), [0x0d, 0x5d, 0x46]);
}

#[test]
fn each_form_of_write_and_read_reaches_the_same_cells() {
    let mut chip = Aps6404l::default();
    let at = [0x7f, 0xff, 0xfe];
    transfer(&mut chip, &[(1, &[0x02]), (1, &at), (1, &[1, 2, 3, 4])]);
    assert_eq!(transfer(&mut chip, &[(1, &[0x03]), (1, &at), (1, &[0; 4])]), [1, 2, 3, 4], "the end wraps");
    assert_eq!(transfer(&mut chip, &[(1, &[0x0b]), (1, &at), (1, &[0]), (1, &[0; 4])]), [1, 2, 3, 4]);
    assert_eq!(transfer(&mut chip, &[(1, &[0xeb]), (4, &at), (4, &[0; 3]), (4, &[0; 4])]), [1, 2, 3, 4]);
    transfer(&mut chip, &[(1, &[0x38]), (4, &[0, 0, 0]), (4, &[5, 6])]);
    transfer(&mut chip, &[(1, &[0x35])]);
    assert_eq!(transfer(&mut chip, &[(4, &[0xeb]), (4, &at), (4, &[0; 3]), (4, &[0; 4])]), [1, 2, 5, 6]);
    assert_eq!(transfer(&mut chip, &[(4, &[0x0b]), (4, &at), (4, &[0; 2]), (4, &[0; 2])]), [1, 2]);
    for write in [0x02, 0x38] {
        transfer(&mut chip, &[(4, &[write]), (4, &[0, 0, 2]), (4, &[write, 9])]);
        assert_eq!(transfer(&mut chip, &[(4, &[0xeb]), (4, &[0, 0, 2]), (4, &[0; 3]), (4, &[0; 2])]), [write, 9]);
    }
}

#[test]
fn the_wrong_dummy_clocks_garble_the_data() {
    let mut chip = Aps6404l::default();
    transfer(&mut chip, &[(1, &[0x02]), (1, &[0; 3]), (1, &[0x12, 0x34, 0x56])]);
    assert_eq!(transfer(&mut chip, &[(1, &[0xeb]), (4, &[0; 3]), (4, &[0xff; 2]), (4, &[0xff; 2])]), [0xff, 0x12]);
}

#[test]
fn a_reset_must_be_enabled_just_before() {
    let mut chip = Aps6404l::default();
    transfer(&mut chip, &[(1, &[0x02]), (1, &[0; 3]), (1, &[7])]);
    let in_quad = |chip: &mut Aps6404l| transfer(chip, &[(4, &[0xeb]), (4, &[0; 3]), (4, &[0; 3]), (4, &[0])]) == [7];
    transfer(&mut chip, &[(1, &[0x35])]);
    for sequence in [&[0x99][..], &[0x66, 0xc0, 0x99]] {
        sequence.iter().for_each(|&command| _ = transfer(&mut chip, &[(4, &[command])]));
        assert!(in_quad(&mut chip));
    }
    // The reset ends QPI mode and the wrap, and keeps the cells.
    [0x66, 0x99].iter().for_each(|&command| _ = transfer(&mut chip, &[(4, &[command])]));
    assert!(!in_quad(&mut chip));
    assert_eq!(transfer(&mut chip, &[(1, &[0x03]), (1, &[0; 3]), (1, &[0])]), [7]);
}

#[test]
fn a_burst_wraps_once_that_is_toggled() {
    let mut chip = Aps6404l::default();
    let bytes: Vec<u8> = (0..64).collect();
    transfer(&mut chip, &[(1, &[0x02]), (1, &[0; 3]), (1, &bytes)]);
    let read = |chip: &mut Aps6404l| transfer(chip, &[(1, &[0x03]), (1, &[0, 0, 30]), (1, &[0; 4])]);
    assert_eq!(read(&mut chip), [30, 31, 32, 33]);
    transfer(&mut chip, &[(1, &[0xc0])]);
    assert_eq!(read(&mut chip), [30, 31, 0, 1]);
}

#[test]
fn a_command_with_further_clocks_and_half_a_byte_have_no_effect() {
    let mut chip = Aps6404l::default();
    transfer(&mut chip, &[(1, &[0x35, 0])]);
    assert_eq!(transfer(&mut chip, &[(1, &[0x9f, 0, 0, 0]), (1, &[0; 2])]), [0x0d, 0x5d]);
    chip.select(true);
    shift(&mut chip, 1, &[0x02, 0, 0, 0]);
    (0..7).for_each(|_| _ = chip.clock(0xf));
    chip.select(false);
    assert_eq!(transfer(&mut chip, &[(1, &[0x03]), (1, &[0; 3]), (1, &[0])]), [0]);
}
