# gpu_rows.awk - reads preprocessed .cu files; see gpu_rows.
#
# A row of a table is row("Op", TFD_FLOAT, ...), or begins with another name.

{
    line = $0
    gsub(/" "/, "", line) # strings that stand beside each other are one
    while (match(line, /\("[A-Za-z0-9_]+", TFD_[A-Z0-9_]+/)) {
        split(substr(line, RSTART, RLENGTH), part, /[(", ]+/)
        type = tolower(substr(part[3], 5))
        print part[2], type == "dtype_invalid" ? "*" : type
        line = substr(line, RSTART + RLENGTH)
    }
}
