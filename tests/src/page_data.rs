// SPDX-License-Identifier: GPL-2.0-only
//! The data of a report's page.

/// What the scripts are handed, unpacked as they do it.
pub fn page_data(page: &str) -> serde_json::Value {
    let opening = "<script type=\"application/gzip\" id=\"data\">";
    let start = page.find(opening).expect("the data are embedded") + opening.len();
    let packed = &page[start..start + page[start..].find("</script>").expect("the data end")];
    let packed = bytes(packed);
    serde_json::from_reader(flate2::read::GzDecoder::new(&*packed)).expect("the data are JSON")
}

fn bytes(base64: &str) -> Vec<u8> {
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0u32, 0);
    for letter in base64.trim_end_matches('=').chars() {
        bits = bits << 6 | letters.find(letter).expect("a letter of base64") as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}
