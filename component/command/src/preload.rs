//! The value of `LD_PRELOAD`.

use crate::objects;

/// Entries that are there stay before ours: profiling tools are to wrap us as they wrap the host MPI. The runtime of AddressSanitizer goes
/// before them all, since it refuses to run anywhere else. An entry of another `transom exec` further out gives way to ours.
pub(crate) fn value(existing: &[u8], ours: &[u8], sanitizer: Option<&[u8]>) -> Vec<u8> {
    let entries = existing.split(|byte| matches!(byte, b' ' | b':')).filter(|entry| !entry.is_empty());
    let mut entries: Vec<&[u8]> = entries.filter(|entry| file_name(entry) != objects::NAME.as_bytes()).collect();
    if let Some(runtime) = sanitizer {
        // One that is there already may be another copy of the runtime, chosen on purpose.
        let there = entries.iter().position(|entry| is_sanitizer(file_name(entry)));
        let first = there.map_or(runtime, |there| entries.remove(there));
        entries.insert(0, first);
    }
    entries.push(ours);
    entries.join(&b':')
}

/// Whether an object of this name is a runtime of AddressSanitizer: GCC's, or Clang's where it is not linked statically.
pub(crate) fn is_sanitizer(name: &[u8]) -> bool {
    name.starts_with(b"libasan.so") || name.starts_with(b"libclang_rt.asan")
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    fn value(existing: &str, sanitizer: Option<&str>) -> String {
        let value = super::value(existing.as_bytes(), b"/t/libtransom.so", sanitizer.map(str::as_bytes));
        String::from_utf8(value).unwrap()
    }

    #[test]
    fn what_is_there_stays_before_ours() {
        assert_eq!(value("", None), "/t/libtransom.so");
        assert_eq!(value("tool.so  /a/b.so:c.so", None), "tool.so:/a/b.so:c.so:/t/libtransom.so");
    }

    #[test]
    fn ours_is_there_once() {
        assert_eq!(value("/t/libtransom.so", None), "/t/libtransom.so");
        assert_eq!(value("/other/libtransom.so:tool.so", None), "tool.so:/t/libtransom.so");
        assert_eq!(value("/t/libtransom.so.d/tool.so", None), "/t/libtransom.so.d/tool.so:/t/libtransom.so");
    }

    #[test]
    fn the_sanitizer_comes_first_and_once() {
        assert_eq!(value("tool.so", Some("libasan.so.8")), "libasan.so.8:tool.so:/t/libtransom.so");
        assert_eq!(value("tool.so:/gcc/libasan.so", Some("libasan.so.8")), "/gcc/libasan.so:tool.so:/t/libtransom.so");
    }
}
