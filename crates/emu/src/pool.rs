//! Reused buffers for packets. They have three sizes, so that a waiting packet takes little more
//! memory than its bytes. With one size, a gigabyte of small packets in flight would take thirty.

/// Sizes of buffers: acknowledgments and calls, packets of an Ethernet, jumbo packets. Longer
/// buffers are not kept.
const SIZES: [usize; 3] = [256, 2048, 9216];

/// Buffers that are not in use.
#[derive(Default)]
pub struct Pool {
    free: [Vec<Box<[u8]>>; SIZES.len()],
}

impl Pool {
    /// Returns a buffer that begins with `bytes`; `more` is called to get used buffers before a new
    /// one is allocated.
    #[inline]
    pub fn fill(&mut self, bytes: &[u8], more: impl FnOnce(&mut Pool)) -> Box<[u8]> {
        let Some(class) = SIZES.iter().position(|size| bytes.len() <= *size) else {
            return bytes.into();
        };
        if self.free[class].is_empty() {
            more(self);
        }
        let mut buffer = self.free[class].pop().unwrap_or_else(|| vec![0; SIZES[class]].into_boxed_slice());
        buffer[..bytes.len()].copy_from_slice(bytes);
        buffer
    }

    /// Returns a buffer to the pool.
    #[inline]
    pub fn put(&mut self, buffer: Box<[u8]>) {
        if let Some(class) = SIZES.iter().position(|size| buffer.len() == *size) {
            self.free[class].push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_fit_and_come_back() {
        let mut pool = Pool::default();
        for (length, size) in
            [(20, 256), (256, 256), (257, 2048), (1500, 2048), (9000, 9216), (20_000, 20_000)]
        {
            let bytes: Vec<u8> = (0..length).map(|byte| byte as u8).collect();
            let buffer = pool.fill(&bytes, |_| ());
            assert_eq!((buffer.len(), &buffer[..length]), (size, &bytes[..]));
            pool.put(buffer);
        }
        assert_eq!(pool.free.each_ref().map(Vec::len), [1, 1, 1]);
        let used = |pool: &mut Pool| pool.put(vec![7; 2048].into_boxed_slice());
        assert_eq!(pool.fill(&[1; 1500], used)[1500], 0, "the one that is there comes first");
        assert_eq!(pool.fill(&[1; 1500], used)[1500], 7, "then those that are asked for");
    }
}
