//! Shards: dividing objects over runs and replicas by what they are known by.
//!
//! In: the identity of an object and the number of shards. Out: the shard it belongs to. The answer
//! depends on nothing else: neither on the order of objects, nor on the machine or the release of
//! the program, so that runs that know nothing of each other read each object once. It is this
//! function, which other programs may compute as well, all numbers being unsigned and of 64 bits:
//!
//! 1. `h` is FNV-1a of the bytes of apiVersion, namespace, kind and name, each followed by a zero
//!    byte; what an object does not have is empty. FNV-1a begins with `0xcbf29ce484222325`; for
//!    each byte, `h` is combined with it by exclusive or, then multiplied with `0x100000001b3`.
//! 2. `h` is mixed by the 64-bit finaliser of MurmurHash3, since FNV-1a leaves the highest bits of
//!    texts that end alike nearly equal: `h ^= h >> 33`, `h *= 0xff51afd7ed558ccd`, `h ^= h >> 33`,
//!    `h *= 0xc4ceb9fe1a85ec53`, `h ^= h >> 33`.
//! 3. The shard is the high half of the 128-bit product of `h` and the number of shards.

use std::num::NonZero;

/// The shard, from 0 to `shards - 1`, of the object with this apiVersion, namespace, kind and name.
pub fn shard_of(identity: &[&str; 4], shards: NonZero<u32>) -> u32 {
    let hash = mixed(identity.iter().fold(0xcbf2_9ce4_8422_2325, |hash, text| fnv_1a(hash, text)));
    // The product of two numbers of 64 and 32 bits has at most 96: its high half fits 32.
    let product = u128::from(hash) * u128::from(shards.get());
    (product >> 64) as u32
}

/// FNV-1a of a text and a zero byte after what `hash` is of.
fn fnv_1a(hash: u64, text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    step(text.bytes().fold(hash, step), 0)
}

/// The 64-bit finaliser of MurmurHash3.
fn mixed(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(identity: [&str; 4], shards: u32) -> u32 {
        shard_of(&identity, NonZero::new(shards).unwrap())
    }

    #[test]
    fn the_hash_is_fnv_1a_and_the_finaliser_of_murmur() {
        // FNV-1a of `a` and `foobar` as their authors publish it, before the zero byte is added.
        let of = |text: &str| {
            let added = fnv_1a(0xcbf2_9ce4_8422_2325, text);
            // The inverse of the prime takes the zero byte away again.
            added.wrapping_mul(0xce96_5057_aff6_957b)
        };
        assert_eq!(of("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(of("foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(mixed(0), 0);
        assert_eq!(mixed(1), 0xb456_bcfc_34c2_cb2c);
    }

    #[test]
    fn shards_of_known_objects_never_change() {
        let objects = [
            ["v1", "default", "Pod", "web-0"],
            ["v1", "default", "Pod", "web-1"],
            ["v1", "", "Namespace", "default"],
            ["apps/v1", "shop", "Deployment", "cart"],
            ["", "", "", ""],
        ];
        let shards = |n: u32| objects.map(|o| shard(o, n));
        assert_eq!(shards(1), [0; 5]);
        assert_eq!(shards(2), [1, 0, 1, 1, 0]);
        assert_eq!(shards(8), [6, 3, 4, 5, 2]);
        assert_eq!(shards(1000), [829, 479, 542, 676, 301]);
        assert_eq!(
            shards(u32::MAX),
            [3_562_724_427, 2_058_626_705, 2_330_310_652, 2_904_961_966, 1_295_231_286]
        );
    }

    #[test]
    fn where_a_text_ends_counts() {
        assert_ne!(shard(["v1", "ab", "Pod", "c"], u32::MAX), shard(["v1", "a", "Pod", "bc"], u32::MAX));
        assert_ne!(shard(["v1", "a", "Pod", ""], u32::MAX), shard(["v1", "", "Pod", "a"], u32::MAX));
    }

    #[test]
    fn numbered_names_fill_all_shards_alike() {
        for shards in [2, 3, 8, 30] {
            let mut counts = vec![0u32; shards as usize];
            for i in 0..30_000 {
                counts[shard(["v1", "default", "Pod", &format!("web-{i}")], shards) as usize] += 1;
            }
            let fair = 30_000 / shards;
            assert!(counts.iter().all(|c| c.abs_diff(fair) * 10 < fair * 2), "{shards}: {counts:?}");
        }
    }
}
