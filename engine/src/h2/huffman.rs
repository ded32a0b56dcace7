//! The Huffman code of HPACK (RFC 7541, appendix B). It is canonical: of the symbols in the order of
//! their lengths, then of their numbers, each has the next code. So the lengths say all.

const EOS: usize = 256;
const LONGEST: usize = 30;
/// Codes up to this length are looked up; most letters have no longer one.
const LOOK_UP: usize = 8;

#[rustfmt::skip]
const LENGTHS: [u8; EOS + 1] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28,
    30, 28, 28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11,
    8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6,
    6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20,
    22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21,
    22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23,
    22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26,
    28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27,
    26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

/// The symbols in the order of their codes; for each length, its first code and where that is in
/// the order; and the symbol and length of each code of up to 8 bits, by its first 8 bits.
struct Code {
    symbols: [u16; EOS + 1],
    /// The first code of each length, and the first code that is too large for it; both as the
    /// upper bits of 32.
    ends: [u64; LONGEST + 1],
    firsts: [u32; LONGEST + 1],
    offsets: [u16; LONGEST + 1],
    short: [(u8, u8); 1 << LOOK_UP],
}

const CODE: Code = build();

const fn build() -> Code {
    let mut code = Code {
        symbols: [0; EOS + 1],
        ends: [0; LONGEST + 1],
        firsts: [0; LONGEST + 1],
        offsets: [0; LONGEST + 1],
        short: [(0, 0); 1 << LOOK_UP],
    };
    let (mut length, mut next, mut at) = (1, 0u64, 0);
    while length <= LONGEST {
        code.firsts[length] = next as u32;
        code.offsets[length] = at as u16;
        let mut symbol = 0;
        while symbol <= EOS {
            if LENGTHS[symbol] as usize == length {
                code.symbols[at] = symbol as u16;
                if length <= LOOK_UP {
                    let mut low = (next as usize) << (LOOK_UP - length);
                    let end = (next as usize + 1) << (LOOK_UP - length);
                    while low < end {
                        code.short[low] = (symbol as u8, length as u8);
                        low += 1;
                    }
                }
                at += 1;
                next += 1;
            }
            symbol += 1;
        }
        code.ends[length] = next << (32 - length);
        next <<= 1;
        length += 1;
    }
    code
}

/// The first symbol in the upper bits of `window`, and the length of its code.
#[inline]
fn first_of(window: u32) -> (usize, u32) {
    let (symbol, length) = CODE.short[(window >> (32 - LOOK_UP)) as usize];
    if length > 0 {
        return (usize::from(symbol), u32::from(length));
    }
    let mut length = LOOK_UP + 1;
    while u64::from(window) >= CODE.ends[length] {
        length += 1;
    }
    let nth = (window >> (32 - length)) - CODE.firsts[length];
    (usize::from(CODE.symbols[usize::from(CODE.offsets[length]) + nth as usize]), length as u32)
}

/// Appends the text that `input` encodes; `None` if it encodes none.
pub(super) fn decode(input: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut bytes = input.iter();
    let (mut bits, mut count) = (0u64, 0u32);
    loop {
        while count <= 32
            && let Some(byte) = bytes.next()
        {
            bits = bits << 8 | u64::from(*byte);
            count += 8;
        }
        // The padding is the beginning of the code of EOS, which is ones.
        let window = match count {
            0 => return Some(()),
            1..32 => (bits << (32 - count)) as u32 | u32::MAX >> count,
            _ => (bits >> (count - 32)) as u32,
        };
        let (symbol, length) = first_of(window);
        if length > count {
            return (count < 8 && window == u32::MAX).then_some(());
        }
        if symbol == EOS {
            return None;
        }
        out.push(symbol as u8);
        count -= length;
    }
}
