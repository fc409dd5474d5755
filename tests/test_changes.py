"""The files that a change touches, in small repositories."""

import subprocess

import pytest

from tests.changes import base, changed_files


@pytest.fixture
def repository(tmp_path):
    """A repository on main with one commit, and a function that runs git in it."""

    def git(*arguments):
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def commit(**files):
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        git("add", "--all")
        git("commit", "-q", "--allow-empty", "-m", "a change")

    git("init", "-q", "-b", "main")
    commit(a="1", b="1", c="1")
    return tmp_path, git, commit


def test_without_git_nothing_is_known(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert base(tmp_path) is None
    assert changed_files(tmp_path) is None
    monkeypatch.setenv("PATH", "")
    assert changed_files(tmp_path) is None


def test_on_main_the_last_commit_and_the_working_tree(repository):
    root, git, commit = repository
    assert changed_files(root) == []  # one commit, and nothing to compare it with
    commit(a="2")
    (root / "b").write_text("2")
    (root / "new").write_text("1")
    git("rm", "-q", "c")
    assert changed_files(root) == ["a", "b", "c", "new"]


@pytest.mark.parametrize("remote", [False, True])
def test_on_a_branch_everything_since_it_left_main(repository, remote):
    root, git, commit = repository
    if remote:  # which is newer than the local branch
        git("update-ref", "refs/remotes/origin/main", "HEAD")
    git("checkout", "-q", "-b", "branch")
    commit(a="2")
    commit(b="2")
    assert changed_files(root) == ["a", "b"]
    assert changed_files(root, "HEAD^") == ["b"]
    with_typo = changed_files(root, "nothing")
    assert with_typo is None


def test_files_that_git_ignores_are_no_change(repository):
    root, _, commit = repository
    commit(**{".gitignore": "out\n"})
    (root / "out").write_text("made")
    assert changed_files(root) == [".gitignore"]
