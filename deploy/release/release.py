#!/usr/bin/env python3
"""Builds, signs and publishes a release; the names of places are in `parameters.env`.

usage: release.py [--dry-run | --publish] [--only STEP,…] [--without STEP,…] [--targets TARGET,…] [--profile PROFILE]
                  [--reuse PROGRAM] [--verify-crates] [--strict] [--out FOLDER] [--list]

Without --publish nothing leaves this machine: a registry on it takes image and chart, a key that is thrown away signs, names of
places end in `.invalid` unless the parameters have some. A step that this machine cannot do is reported as skipped, with what is
missing; with --strict, and with --publish, it is an error. --reuse takes a program that was built for this machine instead of
building any. Artefacts are in target/release-files unless --out says where; `work` below it is not part of a release."""
import argparse
import os
import sys
import time

import chart
import image
import packages
import programs
import trust
from common import ROOT, Release, Skipped

# In order: what a step does not find of those before it, it skips.
STEPS = {
    "programs": programs.step,
    "check-programs": programs.check,
    "npm": packages.npm,
    "wheel": packages.wheel,
    "crates": packages.crates,
    "managers": packages.managers,
    "image": image.step,
    "check-image": image.check,
    "chart": chart.step,
    "check-chart": chart.check,
    "sbom": trust.sbom,
    "provenance": trust.provenance,
    "checksums": trust.checksums,
    "check-checksums": trust.check_checksums,
    "sign": trust.sign,
    "check-signatures": trust.check_signatures,
}
# Steps without which a release is one, too.
OPTIONAL = {"npm", "wheel", "crates"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    split = lambda text: [word for word in text.split(",") if word]
    parser.add_argument("--dry-run", action="store_true", help="nothing leaves this machine (so without --publish)")
    parser.add_argument("--publish", action="store_true", help="push to the registry of the parameters")
    parser.add_argument("--only", type=split, default=list(STEPS), metavar="STEP,…", help="these steps")
    parser.add_argument("--without", type=split, default=[], metavar="STEP,…", help="all but these")
    parser.add_argument("--targets", type=split, default=[], metavar="TARGET,…", help="targets of programs, all that are released unless given")
    parser.add_argument("--profile", default="dist", help="the profile of cargo, dist unless given")
    parser.add_argument("--reuse", metavar="PROGRAM", help="a program that was built for this machine")
    parser.add_argument("--have-programs", action="store_true", help="the archives of programs are in the folder already")
    parser.add_argument("--verify-crates", action="store_true", help="compile the crates as they are packaged")
    parser.add_argument("--strict", action="store_true", help="a step that is skipped is an error")
    parser.add_argument("--out", default=os.path.join(ROOT, "target/release-files"), metavar="FOLDER", help="where artefacts go")
    parser.add_argument("--list", action="store_true", help="print the steps")
    args = parser.parse_args()
    unknown = [step for step in args.only + args.without if step not in STEPS]
    if unknown:
        parser.error(f"there is no step {', '.join(unknown)}; --list prints them")
    if args.dry_run and args.publish:
        parser.error("--dry-run and --publish exclude each other")
    return args


def main():
    args = arguments()
    if args.list:
        print("\n".join(STEPS))
        return 0
    release = Release(args)
    release.facts["verify_crates"] = args.verify_crates
    if args.have_programs:
        programs.unpack(release)
    began, skipped = time.monotonic(), []
    print(f"release {release.version}{' (dry run)' if release.dry_run else ''} -> {os.path.relpath(release.out)}", flush=True)
    for name in [step for step in STEPS if step in args.only and step not in args.without]:
        start = time.monotonic()
        try:
            said, missing = STEPS[name](release)
        except Skipped as cause:
            said, missing = [], [str(cause)]
        for line in said:
            print(f"{name}: {line}")
        for line in missing:
            print(f"{name}: skipped: {line}")
        sys.stdout.flush()
        skipped += [name for _ in missing if name not in OPTIONAL or args.strict]
        if time.monotonic() - start > 5:
            print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
    for name in sorted(os.listdir(release.out)):
        if os.path.isfile(release.path(name)):
            print(f"  {os.path.getsize(release.path(name)):>11,}  {name}")
    print(f"{time.monotonic() - began:.0f} s")
    if skipped and (args.strict or args.publish):
        print(f"release: skipped, and not optional: {', '.join(sorted(set(skipped)))}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
