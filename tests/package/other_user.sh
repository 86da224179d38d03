#!/bin/sh
# The installed wheel's tests as nobody: no home, no right to write beside the tests, the system's own Python if it will do.
set -eu
cd "$(dirname "$0")/../.."
if [ "$(id -u)" != 0 ]; then
  echo "SKIPPED: only root can become another user; 'make test' already ran as $(id -un)."
  exit 0
fi
for python in /usr/bin/python3 python3; do
  version=$("$python" -c 'import sys, ensurepip, venv; print("%d.%d" % sys.version_info[:2])' 2> /dev/null) || continue
  readable=$(setpriv --reuid=65534 --regid=65534 --clear-groups "$python" -c 'print(1)' 2> /dev/null) || continue
  case "$(echo dist/*.whl)" in *cp"$(echo "$version" | tr -d .)"-*) found=$python; break ;; esac
done
if [ -z "${found:-}" ]; then
  echo "SKIPPED: no Python here that the wheel fits and that another user may run."
  exit 0
fi
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"
mkdir "$place/own" "$place/tests of others"
"$found" -m venv "$place/venv"
"$place/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$(echo dist/*.whl)[test]"
tar -xzf dist/*.tar.gz -C "$place/tests of others" --strip-components=1
rm -r "$place/tests of others/src"
chown 65534:65534 "$place/own"
# Every folder on the way must be open to others; TMPDIR of root may not be.
echo "As nobody, on $("$found" --version), in a folder of root's:"
cd "$place/tests of others"
setpriv --reuid=65534 --regid=65534 --clear-groups env -i PATH="$PATH" HOME=/nonexistent TMPDIR="$place/own" LANG=C \
  "$place/venv/bin/python" -B -m pytest -p no:cacheprovider -n 2 --dist loadgroup "${@:-tests}"
