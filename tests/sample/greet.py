"""Says hello. A small program for trying Bosun on."""

import sys

GREETING = "Hello"


def greet(name: str) -> str:
    return f"{GREETING}, {name}!"


def main() -> None:
    for name in sys.argv[1:] or ["friend"]:
        print(greet(name))


if __name__ == "__main__":
    main()
