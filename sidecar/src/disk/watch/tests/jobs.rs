//! The keeper's jobs one by one, and how paths are joined.

use super::*;

/// A keeper without a task.
fn keeper(room: usize) -> (Keeper, mpsc::Receiver<Note>) {
    let (noted, notes) = mpsc::channel(room);
    (Keeper::new(noted, LIMITS), notes)
}

fn wish(folders: &[&Path], trees: &[&Path]) -> Work {
    let owned = |paths: &[&Path]| paths.iter().map(|p| p.to_path_buf()).collect();
    let mut work = Work::default();
    work.wish(WatchWish { folders: owned(folders), trees: owned(trees) }, SystemTime::now());
    work
}

async fn job(mut keeper: Keeper, work: Work, hurry: bool) -> Keeper {
    tokio::task::spawn_blocking(move || {
        keeper.work(work, &AtomicBool::new(hurry));
        keeper
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn the_systems_thread_ends_with_the_keeper() {
    let s = Scene::new();
    let a = s.folder("a");
    let (keeper, mut notes) = keeper(NOTES);
    let keeper = job(keeper, wish(&[&a], &[]), false).await;
    assert!(keeper.holds(&a));
    drop(keeper);
    // That thread holds the last sender.
    let end = async { while notes.recv().await.is_some() {} };
    tokio::time::timeout(LONG, end).await.expect("the thread goes on");
}

#[tokio::test]
async fn a_newer_wish_overtakes_a_walk_which_goes_on_afterwards() {
    let s = Scene::new();
    for i in 0..2000 {
        s.folder(&format!("t/{}/{i}", i % 20));
    }
    let (t, other) = (s.at("t"), s.folder("other"));
    let (keeper, _notes) = keeper(NOTES);
    let keeper = job(keeper, wish(&[], &[&t]), true).await;
    assert!(keeper.walks());
    let mut keeper = job(keeper, wish(&[&other], &[&t]), true).await;
    assert!(keeper.holds(&other) && keeper.walks());
    let mut jobs = 2;
    while keeper.walks() {
        keeper = job(keeper, Work::default(), true).await;
        jobs += 1;
    }
    assert!((0..2000).all(|i| keeper.holds(&s.at(&format!("t/{}/{i}", i % 20)))));
    assert_eq!(jobs, 1 + 2021 / keeper::STEPS, "the walk began anew");
    // The same wish again walks no more; one without the tree drops it, also in the middle of a walk.
    let keeper = job(keeper, wish(&[&other], &[&t]), true).await;
    assert!(!keeper.walks());
    let keeper = job(keeper, wish(&[&other], &[]), true).await;
    assert!(!keeper.holds(&t) && keeper.holds(&other));
    let keeper = job(keeper, wish(&[], &[&t]), true).await;
    let keeper = job(keeper, wish(&[], &[]), true).await;
    assert!(!keeper.walks() && !keeper.holds(&t));
}

#[tokio::test]
async fn an_overflow_of_the_systems_queue_is_noted_and_all_folders_are_looked_at_again() {
    let s = Scene::new();
    let t = s.folder("t");
    let (keeper, mut notes) = keeper(1);
    let keeper = job(keeper, wish(&[], &[&t]), false).await;
    // Nobody takes the notes: they pile up in the system, which joins only equal ones in a row.
    let mut files = ["t/a", "t/b"].map(|name| fs::File::create(s.at(name)).unwrap());
    let room = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    for i in 0..room.trim().parse::<usize>().unwrap() + 2000 {
        files[i % 2].write_all(b"x").unwrap();
    }
    let unseen = s.folder("t/unseen");
    let lost = async {
        loop {
            match notes.recv().await.unwrap() {
                Note::Lost => return,
                Note::Made(path) => panic!("{path:?} was not lost"),
                Note::Changed(_) | Note::Gone(_) => {}
            }
        }
    };
    tokio::time::timeout(LONG, lost).await.expect("nothing was lost");
    assert!(!keeper.holds(&unseen));
    let mut work = Work::default();
    work.look_again(SystemTime::now());
    let keeper = job(keeper, work, false).await;
    assert!(keeper.holds(&unseen));
}

#[test]
fn more_paths_than_an_event_holds_are_told_as_anything() {
    let mut joined = Joined::default();
    let now = tokio::time::Instant::now();
    for i in 0..joined::PATHS {
        joined.add(PathBuf::from(format!("/{i}")));
        joined.add(PathBuf::from("/0"));
    }
    assert_eq!(joined.take(now).len(), joined::PATHS);
    assert!(!joined.any());
    for i in 0..=joined::PATHS {
        joined.add(PathBuf::from(format!("/{i}")));
    }
    assert!(joined.any() && joined.take(now).is_empty());
    joined.add(PathBuf::from("/0"));
    assert_eq!(joined.take(now), [PathBuf::from("/0")]);
}

#[test]
fn the_wait_for_more_changes_grows_in_a_flood_only() {
    let mut joined = Joined::default();
    let mut now = tokio::time::Instant::now();
    let mut waits = |paths: usize| {
        let mut waits = Vec::new();
        for _ in 0..6 {
            let due = joined.due(now, false);
            waits.push((due - now).as_millis());
            (0..paths).for_each(|i| joined.add(PathBuf::from(format!("/{i}"))));
            joined.take(due);
            now = due + Duration::from_millis(1);
        }
        now += Duration::from_secs(1);
        waits
    };
    assert_eq!(waits(1), [4; 6]);
    assert_eq!(waits(100), [4, 8, 16, 32, 64, 80]);
    assert_eq!(waits(2000), [4, 8, 16, 32, 64, 80]);
    assert_eq!(waits(1), [4; 6]);
    assert_eq!((joined.due(now, true) - now).as_millis(), 8, "the lane is full");
}
