//! The watcher on real folders.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::*;

/// Nothing here takes that long; it only ends a test that would wait for ever.
const LONG: Duration = Duration::from_secs(30);

struct Scene {
    _temp: tempfile::TempDir,
    root: PathBuf,
    watch: Watch,
    inbox: mpsc::Receiver<Event>,
}

impl Scene {
    fn new() -> Self {
        Self::with(1024, LIMITS)
    }

    fn with(room: usize, limits: Limits) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let (lane, inbox) = mpsc::channel(room);
        Self { _temp: temp, root, watch: Watch::limited(lane, limits), inbox }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn folder(&self, name: &str) -> PathBuf {
        fs::create_dir_all(self.at(name)).unwrap();
        self.at(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.at(name), text).unwrap();
        self.at(name)
    }

    fn wish(&self, folders: &[&str], trees: &[&str]) {
        let at = |names: &[&str]| names.iter().map(|name| self.at(name)).collect();
        self.watch.wish(WatchWish { folders: at(folders), trees: at(trees) });
    }

    async fn told(&mut self) -> Vec<PathBuf> {
        let event = tokio::time::timeout(LONG, self.inbox.recv()).await.expect("nothing was told").unwrap();
        let Event::Watched(paths) = event else { panic!("{event:?}") };
        assert!(paths.len() <= joined::PATHS, "{} paths", paths.len());
        paths
    }

    /// All that is told until this path is, with it.
    async fn until(&mut self, path: &Path) -> Vec<PathBuf> {
        let mut all = Vec::new();
        while !all.iter().any(|p| p == path) {
            all.extend(self.told().await);
        }
        all
    }

    /// Once this returns, the folder is watched: the file has been seen, and files are looked at after their folder is
    /// watched. What happened before has been told.
    async fn watched(&mut self, folder: &str) {
        let probe = self.write(&format!("{folder}/probe"), "");
        self.until(&probe).await;
        // And that its own events are over: they come in order.
        let last = self.write(&format!("{folder}/last"), "");
        self.until(&last).await;
    }
}

#[tokio::test]
async fn a_write_in_place_is_told_with_its_real_path() {
    let mut s = Scene::new();
    s.folder("a");
    s.write("a/old", "");
    let file = s.write("a/f", "1");
    s.wish(&["a"], &[]);
    s.watched("a").await;
    fs::write(&file, "2").unwrap();
    let told = s.until(&file).await;
    assert!(!told.contains(&s.at("a/old")), "{told:?}");
}

#[tokio::test]
async fn a_file_that_is_only_read_is_not_told() {
    let mut s = Scene::new();
    s.folder("a");
    let file = s.write("a/f", "1");
    s.wish(&["a"], &[]);
    s.watched("a").await;
    assert_eq!(fs::read_to_string(&file).unwrap(), "1");
    let end = s.write("a/end", "");
    let told = s.until(&end).await;
    assert!(!told.contains(&file), "{told:?}");
}

#[tokio::test]
async fn a_rename_over_a_file_is_told_under_its_name() {
    let mut s = Scene::new();
    s.folder("a");
    let file = s.write("a/f", "1");
    s.wish(&["a"], &[]);
    s.watched("a").await;
    let new = s.write("a/f.new", "2");
    fs::rename(&new, &file).unwrap();
    s.until(&file).await;
    assert_eq!(fs::read_to_string(&file).unwrap(), "2");
}

#[tokio::test]
async fn a_removed_file_and_one_made_again_are_told() {
    let mut s = Scene::new();
    s.folder("a");
    let file = s.write("a/f", "1");
    s.wish(&["a"], &[]);
    s.watched("a").await;
    fs::remove_file(&file).unwrap();
    s.until(&file).await;
    fs::write(&file, "2").unwrap();
    s.until(&file).await;
}

#[tokio::test]
async fn a_touch_and_a_file_moved_away_are_told() {
    let mut s = Scene::new();
    s.folder("a");
    s.folder("b");
    let file = s.write("a/f", "1");
    s.wish(&["a"], &[]);
    s.watched("a").await;
    fs::File::options().write(true).open(&file).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    s.until(&file).await;
    let moved = s.write("a/g", "1");
    s.until(&moved).await;
    fs::rename(&moved, s.at("b/g")).unwrap();
    s.until(&moved).await;
}

#[tokio::test]
async fn what_changes_right_after_the_wish_is_told_though_nothing_is_watched_yet() {
    let mut s = Scene::new();
    for i in 0..600 {
        s.folder(&format!("t/{}/{i}", i % 10));
    }
    let old = s.write("t/3/old", "");
    // Older than what the clock can tell apart.
    while fs::metadata(&old).unwrap().modified().unwrap().elapsed().unwrap() < SLACK * 2 {
        tokio::task::yield_now().await;
    }
    s.wish(&[], &["t"]);
    let new = s.write("t/9/599/new", "");
    let told = s.until(&new).await;
    assert!(!told.contains(&old), "{told:?}");
}

#[tokio::test]
async fn a_new_folder_in_a_tree_is_told_with_its_files_and_watched() {
    let mut s = Scene::new();
    s.folder("t/sub");
    s.wish(&[], &["t"]);
    s.watched("t/sub").await;
    s.folder("t/sub/new/deep/deeper");
    let first = s.write("t/sub/new/deep/deeper/first", "");
    s.until(&first).await;
    s.watched("t/sub/new/deep/deeper").await;
    fs::write(&first, "2").unwrap();
    s.until(&first).await;
    // One that comes with all in it.
    s.folder("elsewhere/inner");
    s.write("elsewhere/inner/f", "");
    fs::rename(s.at("elsewhere"), s.at("t/came")).unwrap();
    let came = s.at("t/came/inner/f");
    s.until(&came).await;
    fs::write(&came, "2").unwrap();
    s.until(&came).await;
}

#[tokio::test]
async fn a_tree_leaves_out_what_ignore_files_hide_hidden_folders_and_links() {
    let mut s = Scene::new();
    for name in ["t/.git", "t/target/deep", "t/skip", "t/src", "elsewhere", "wished/build"] {
        s.folder(name);
    }
    s.write("t/.gitignore", "target/\nlater/\n");
    s.write("t/.ignore", "/skip\n");
    s.write("wished/.gitignore", "build\n");
    std::os::unix::fs::symlink(s.at("elsewhere"), s.at("t/link")).unwrap();
    s.wish(&["wished/build"], &["t", "wished"]);
    s.watched("t/src").await;
    s.folder("t/later");
    for hidden in ["t/.git/f", "t/target/f", "t/target/deep/f", "t/skip/f", "elsewhere/f", "t/later/f"] {
        s.write(hidden, "");
    }
    // Wished itself: no matter what hides it.
    let wished = s.write("wished/build/f", "");
    s.until(&wished).await;
    s.folder("t/new");
    let new = s.write("t/new/f", "");
    s.until(&new).await;
    s.watched("t/new").await;
    s.write("t/later/f", "2");
    let end = s.write("t/src/f", "");
    let told = s.until(&end).await;
    let seen: Vec<_> = told.iter().filter(|p| p.ends_with("f")).collect();
    assert_eq!(seen, [&end]);
}

#[tokio::test]
async fn a_newer_wish_silences_the_older() {
    let mut s = Scene::new();
    for name in ["a", "b", "t/sub"] {
        s.folder(name);
    }
    s.wish(&["a"], &["t"]);
    s.watched("a").await;
    s.watched("t/sub").await;
    s.wish(&["b"], &[]);
    s.watched("b").await;
    s.write("a/f", "");
    s.write("t/sub/f", "");
    let end = s.write("b/f", "");
    let told = s.until(&end).await;
    assert!(told.iter().all(|p| p.starts_with(s.at("b"))), "{told:?}");
    s.wish(&["a", "b"], &[]);
    s.watched("a").await;
}

#[tokio::test]
async fn a_flood_is_told_in_few_bounded_events() {
    let mut s = Scene::new();
    s.folder("a");
    s.wish(&["a"], &[]);
    s.watched("a").await;
    let root = s.root.clone();
    let flood = tokio::task::spawn_blocking(move || {
        let file = |i| fs::File::create(root.join(format!("a/{i}"))).unwrap();
        let mut files: Vec<_> = (0..500).map(file).collect();
        for i in 0..20_000 {
            files[i % 500].write_all(b"x").unwrap();
        }
        fs::write(root.join("a/end"), "").unwrap();
    });
    let end = s.at("a/end");
    let mut events = 0;
    loop {
        let told = s.told().await;
        events += 1;
        // The end itself may be among what was lost.
        if told.contains(&end) || told.is_empty() && flood.is_finished() {
            break;
        }
    }
    flood.await.unwrap();
    assert!(events <= 200, "{events} events");
}

#[tokio::test]
async fn a_wished_folder_that_is_removed_is_watched_again_when_it_is_back() {
    let mut s = Scene::new();
    s.folder("up/a");
    let file = s.write("up/a/f", "1");
    s.wish(&["up/a"], &[]);
    for _ in 0..3 {
        s.watched("up/a").await;
        fs::remove_dir_all(s.at("up")).unwrap();
        s.until(&s.at("up/a")).await;
        s.folder("up/a");
        fs::write(&file, "2").unwrap();
        s.until(&file).await;
    }
}

#[tokio::test]
async fn a_folder_of_a_tree_that_is_removed_and_made_again_is_watched_again() {
    let mut s = Scene::new();
    s.folder("t/a/b");
    s.wish(&["t/a/b"], &["t"]);
    s.watched("t/a/b").await;
    for i in 0..20 {
        fs::remove_dir_all(s.at("t/a")).unwrap();
        s.folder("t/a/b");
        let file = s.write("t/a/b/f", &i.to_string());
        s.until(&file).await;
        s.watched("t/a/b").await;
    }
}

#[tokio::test]
async fn a_folder_that_is_renamed_is_told_gone_and_watched_under_its_new_name() {
    let mut s = Scene::new();
    s.folder("t/a/b");
    s.write("t/a/b/f", "");
    s.wish(&["t/a/b"], &["t"]);
    s.watched("t/a/b").await;
    fs::rename(s.at("t/a"), s.at("t/c")).unwrap();
    let told = s.until(&s.at("t/c/b/f")).await;
    assert!(told.contains(&s.at("t/a")), "{told:?}");
    s.watched("t/c/b").await;
    // Something else takes the old name.
    s.folder("t/a/b");
    s.watched("t/a/b").await;
}

#[tokio::test]
async fn a_wish_finds_out_that_a_folder_above_was_renamed() {
    let mut s = Scene::new();
    for name in ["up/a", "up/t/sub", "b"] {
        s.folder(name);
    }
    s.wish(&["up/a"], &["up/t"]);
    s.watched("up/a").await;
    s.watched("up/t/sub").await;
    fs::rename(s.at("up"), s.at("was")).unwrap();
    s.folder("up/a");
    s.folder("up/t/sub");
    s.wish(&["up/a", "b"], &["up/t"]);
    for folder in ["b", "up/a", "up/t", "up/t/sub"] {
        s.watched(folder).await;
    }
}

#[tokio::test]
async fn what_cannot_be_watched_is_looked_at() {
    let mut s = Scene::with(1024, Limits { tree_folders: 0, folders: 0, polled_files: 100 });
    s.folder("a");
    let old = s.write("a/old", "");
    let file = s.write("a/f", "1");
    s.wish(&["a", "missing"], &["a"]);
    s.watched("a").await;
    fs::write(&file, "22").unwrap();
    let told = s.until(&file).await;
    assert!(!told.contains(&old), "{told:?}");
    fs::remove_file(&file).unwrap();
    assert_eq!(s.until(&file).await, std::slice::from_ref(&file));
    fs::write(&file, "1").unwrap();
    assert_eq!(s.until(&file).await, [file]);
    s.folder("missing");
    let late = s.write("missing/f", "");
    s.until(&late).await;
    fs::remove_dir_all(s.at("missing")).unwrap();
    s.until(&late).await;
}

#[tokio::test]
async fn open_files_are_watched_still_when_a_tree_has_more_folders_than_the_bound() {
    let mut s = Scene::with(1024, Limits { tree_folders: 10, folders: 1, polled_files: 100 });
    for i in 0..40 {
        s.folder(&format!("t/{i}"));
    }
    s.folder("t/x/y");
    s.wish(&["t/x/y"], &["t"]);
    s.watched("t/x/y").await;
    s.folder("z");
    s.folder("z2");
    s.wish(&["t/x/y", "z", "z2"], &["t"]);
    for folder in ["z", "z2", "t/x/y", "t"] {
        s.watched(folder).await;
    }
}

#[tokio::test]
async fn a_full_lane_holds_paths_back_and_loses_none() {
    let mut s = Scene::with(1, LIMITS);
    s.folder("a");
    s.wish(&["a"], &[]);
    s.watched("a").await;
    let (lane, mut inbox) = mpsc::channel(1);
    lane.send(Event::Watched(vec![PathBuf::from("/other")])).await.unwrap();
    let watch = Watch::start(lane);
    watch.wish(WatchWish { folders: vec![s.at("a")], trees: Vec::new() });
    let mut files = HashSet::new();
    for i in 0..200 {
        files.insert(s.write(&format!("a/{i}"), ""));
        // The other watcher has seen it: so has this one, or it is on the way.
        s.until(&s.at(&format!("a/{i}"))).await;
    }
    let mut events = 0;
    inbox.recv().await.unwrap();
    while !files.is_empty() {
        let event = tokio::time::timeout(LONG, inbox.recv()).await.expect("paths were lost").unwrap();
        let Event::Watched(paths) = event else { panic!("{event:?}") };
        events += 1;
        for path in paths {
            files.remove(&path);
        }
    }
    assert!(events <= 3, "{events}");
}

#[tokio::test]
async fn a_change_is_told_soon() {
    let mut s = Scene::new();
    s.folder("a");
    s.wish(&["a"], &[]);
    s.watched("a").await;
    let mut times = Vec::new();
    for i in 0..21 {
        let file = s.at(&format!("a/{i}"));
        let started = Instant::now();
        fs::write(&file, "").unwrap();
        s.until(&file).await;
        times.push(started.elapsed());
        // A quiet time after what else this file has to say.
        let quiet = Instant::now();
        while quiet.elapsed() < Duration::from_millis(20) {
            tokio::time::timeout(Duration::from_millis(1), s.inbox.recv()).await.ok();
        }
    }
    times.sort();
    // Measured 5 to 6 ms on an idle machine; this one may be busy.
    assert!(times[10] < Duration::from_millis(60), "{times:?}");
}

#[tokio::test]
async fn the_task_ends_with_its_handle() {
    let mut s = Scene::new();
    s.folder("a");
    s.wish(&["a"], &["a"]);
    s.watched("a").await;
    drop(s.watch);
    let end = async { while s.inbox.recv().await.is_some() {} };
    tokio::time::timeout(LONG, end).await.expect("the task goes on");
}

mod jobs;
