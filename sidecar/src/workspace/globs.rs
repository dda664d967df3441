//! Globs of the settings: which files they name.
//!
//! Owns the compiled patterns. It never touches the disk. Called by the roots.
//!
//! A glob without `/` is for the name of a file, in any folder. One with `/` is for the path below a root, or for the
//! whole path. `*` stays in one folder, `**` does not. Case counts.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Some globs.
#[derive(Debug, Default)]
pub struct Globs {
    /// Those without `/`.
    names: GlobSet,
    /// Those with.
    paths: GlobSet,
}

impl Globs {
    /// Compiles them; also says what is wrong with those that make no sense, which are left out.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> (Self, Vec<String>) {
        let (mut names, mut paths, mut wrong) = (GlobSetBuilder::new(), GlobSetBuilder::new(), Vec::new());
        for pattern in patterns {
            match GlobBuilder::new(pattern).literal_separator(true).build() {
                Ok(glob) if pattern.contains('/') => paths.add(glob),
                Ok(glob) => names.add(glob),
                Err(e) => {
                    wrong.push(e.to_string());
                    continue;
                }
            };
        }
        let mut built = |set: GlobSetBuilder| {
            set.build().unwrap_or_else(|e| {
                wrong.push(e.to_string());
                GlobSet::empty()
            })
        };
        let globs = Self { names: built(names), paths: built(paths) };
        (globs, wrong)
    }

    /// Whether one of them names this path. `roots` are the folders it may be in.
    pub fn name<'a>(&self, path: &Path, roots: impl IntoIterator<Item = &'a Path>) -> bool {
        path.file_name().is_some_and(|name| self.names.is_match(name))
            || self.paths.is_match(path)
            || roots
                .into_iter()
                .filter_map(|root| path.strip_prefix(root).ok())
                .any(|below| self.paths.is_match(below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, path: &str, expected: bool) {
        let (globs, wrong) = Globs::new([pattern]);
        assert!(wrong.is_empty(), "{wrong:?}");
        let got = globs.name(Path::new(path), [Path::new("/p")]);
        assert_eq!(got, expected, "{pattern} {path}");
    }

    #[test]
    fn a_glob_is_for_a_name_or_for_a_path_below_a_root_or_for_the_whole_path() {
        check(".env", "/p/.env", true);
        check(".env", "/p/sub/.env", true);
        check(".env", "/p/.env/a", false);
        check(".env", "/p/.ENV", false);
        check("*.pem", "/q/a b%#.pem", true);
        check("*.pem", "/p/a\nb.pem", true);
        check("ci/*.yml", "/p/ci/a.yml", true);
        check("ci/*.yml", "/p/x/ci/a.yml", false);
        check("ci/*.yml", "/p/ci/x/a.yml", false);
        check("ci/**", "/p/ci/x/[id]/a.yml", true);
        check("/q/**", "/q/a", true);
        check("/q/**", "/p/q/a", false);
        check("**/hooks/**", "/p/hooks/a", true);
    }

    #[test]
    fn a_glob_that_makes_no_sense_is_told_and_the_others_hold() {
        let (globs, wrong) = Globs::new(["a[", "*.pem"]);
        assert_eq!(wrong.len(), 1);
        assert!(wrong[0].contains("a["), "{wrong:?}");
        assert!(globs.name(Path::new("/p/x.pem"), []));
    }
}
