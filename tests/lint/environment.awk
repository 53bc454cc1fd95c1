# environment.awk - fails when the environment is read elsewhere than in
# config/environment.c, whose table says what there is to be set.

/getenv *\(/ && FILENAME != "config/environment.c" {
    printf "%s:%d: config/environment.h reads the environment\n", FILENAME, FNR
    bad = 1
}

END { exit bad }
