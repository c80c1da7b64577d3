//! BLAKE3 as it derives keys, with contexts of any bytes.
//!
//! The library takes contexts of text only, and a context is hashed under a flag of its own that cannot be asked for
//! otherwise; so that part, the smaller one, is done here as the paper has it. Contexts are public, and short.

use blake3::Hasher;
use blake3::hazmat::{HasherExt, left_subtree_len};
use zeroize::Zeroizing;

/// 32 bytes of a key, of a context and what the key is made of.
pub(super) fn derive(context: &[u8], material: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut hasher = Hasher::new_from_context_key(&context_key(context));
    hasher.update(material);
    Zeroizing::new(*hasher.finalize().as_bytes())
}

/// By which a relay in front knows the key behind it; the tools show it.
#[must_use]
pub fn hash32(public: &[u8]) -> [u8; 32] {
    *blake3::hash(public).as_bytes()
}

const IV: [u32; 8] =
    [0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19];
const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
/// Columns of the state, then its diagonals.
const LANES: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
];
const BLOCK: usize = 64;
const CHUNK: usize = 1024;
const CHUNK_START: u32 = 1;
const CHUNK_END: u32 = 2;
const PARENT: u32 = 4;
const ROOT: u32 = 8;
const CONTEXT: u32 = 32;

/// The last compression of a subtree, not done yet: only then is it known whether it is the root.
struct Node {
    value: [u32; 8],
    block: [u32; 16],
    counter: u64,
    len: u32,
    flags: u32,
}

impl Node {
    fn finish(&self, root: u32) -> [u32; 8] {
        compress(&self.value, &self.block, self.counter, self.len, self.flags | CONTEXT | root)
    }
}

fn context_key(context: &[u8]) -> [u8; 32] {
    let mut key = [0; 32];
    for (bytes, word) in key.chunks_exact_mut(4).zip(subtree(context, 0).finish(ROOT)) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    key
}

/// `first` is the number of the first chunk.
fn subtree(input: &[u8], first: u64) -> Node {
    if input.len() <= CHUNK {
        return chunk(input, first);
    }
    let len = usize::try_from(left_subtree_len(input.len() as u64)).unwrap_or(CHUNK);
    let (left, right) = input.split_at(len);
    let mut block = [0; 16];
    block[..8].copy_from_slice(&subtree(left, first).finish(0));
    block[8..].copy_from_slice(&subtree(right, first + (len / CHUNK) as u64).finish(0));
    Node { value: IV, block, counter: 0, len: BLOCK as u32, flags: PARENT }
}

fn chunk(input: &[u8], counter: u64) -> Node {
    let mut node = Node { value: IV, block: [0; 16], counter, len: 0, flags: CHUNK_START };
    for (at, bytes) in input.chunks(BLOCK).enumerate() {
        if at > 0 {
            node.value = node.finish(0);
            node.flags = 0;
        }
        (node.block, node.len) = (words(bytes), bytes.len() as u32);
    }
    node.flags |= CHUNK_END;
    node
}

fn words(bytes: &[u8]) -> [u32; 16] {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(4)) {
        let mut four = [0; 4];
        four[..bytes.len()].copy_from_slice(bytes);
        *word = u32::from_le_bytes(four);
    }
    words
}

fn compress(value: &[u32; 8], block: &[u32; 16], counter: u64, len: u32, flags: u32) -> [u32; 8] {
    let mut state = [0; 16];
    state[..8].copy_from_slice(value);
    state[8..12].copy_from_slice(&IV[..4]);
    state[12..].copy_from_slice(&[counter as u32, (counter >> 32) as u32, len, flags]);
    let mut block = *block;
    for _ in 0..7 {
        for (lane, pair) in LANES.iter().zip(block.chunks_exact(2)) {
            mix(&mut state, lane, pair[0], pair[1]);
        }
        block = PERMUTATION.map(|from| block[from]);
    }
    std::array::from_fn(|at| state[at] ^ state[at + 8])
}

fn mix(state: &mut [u32; 16], &[a, b, c, d]: &[usize; 4], x: u32, y: u32) {
    for (word, by, then) in [(x, 16, 12), (y, 8, 7)] {
        state[a] = state[a].wrapping_add(state[b]).wrapping_add(word);
        state[d] = (state[d] ^ state[a]).rotate_right(by);
        state[c] = state[c].wrapping_add(state[d]);
        state[b] = (state[b] ^ state[c]).rotate_right(then);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_of_text_give_what_the_library_gives() {
        let text: String = ('a'..='z').cycle().take(9000).collect();
        for len in [0, 1, 5, 16, 63, 64, 65, 1023, 1024, 1025, 1120, 1216, 2048, 2049, 3073, 4096, 5000, 8213, 9000] {
            assert_eq!(*derive(&text.as_bytes()[..len], b"key"), blake3::derive_key(&text[..len], b"key"), "{len}");
        }
    }
}
