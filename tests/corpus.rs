//! Every file of the corpus, shown to its target as the fuzzer does: what was once found stays found.

use std::collections::BTreeSet;
use std::path::Path;

#[path = "fuzz/src/targets/mod.rs"]
mod targets;

#[test]
fn every_target_takes_its_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/corpus");
    for (name, target) in targets::ALL {
        let files = std::fs::read_dir(corpus.join(name)).unwrap_or_else(|error| panic!("corpus of {name}: {error}"));
        let mut shown = 0;
        for file in files {
            let path = file.expect("a readable folder").path();
            // Shown when it panics.
            println!("{}", path.display());
            target(&std::fs::read(&path).expect("a readable file"));
            shown += 1;
        }
        assert!(shown > 0, "the corpus of {name} is empty");
    }
}

#[test]
fn every_corpus_has_a_target() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/corpus");
    let folders = std::fs::read_dir(corpus).expect("a corpus").map(|entry| entry.expect("a folder").file_name());
    let folders: BTreeSet<_> = folders.map(|name| name.to_string_lossy().into_owned()).collect();
    let targets: BTreeSet<_> = targets::ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(folders, targets);
}
