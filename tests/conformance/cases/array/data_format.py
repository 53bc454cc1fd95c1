"""Cases of kernels/array/data_format.c."""
from tests.conformance.inputs import x
from tests.conformance.table import bad, c, row

VOLUMES = {"src_format": "NDHWC", "dst_format": "NCDHW"}
BACK = {"src_format": "NCHW", "dst_format": "NHWC"}
WRONG = [{"dst_format": "NC"}, {"src_format": "NH", "dst_format": "HN"},
         {"dst_format": "NHWX"}, {"src_format": "NHHC", "dst_format": "NHHC"},
         {"dst_format": "NCDHW"}, {"src_format": ""}]
row("DataFormatDimMap", [
    c([0, 1, 2, 3, -1, -4]), c([4, 7, 8, -5, -8, -9, 100]), c(2),
    c([[0, 1], [3, 2]], **BACK), c([0, 1, 2, 3, 4, -5], **VOLUMES), c(x(0)),
    c([0, 1, 2, 3], src_format="ABCD", dst_format="DBAC")] + [
    bad([0, 1, 2, 3], **attrs) for attrs in WRONG])
row("DataFormatVecPermute", [
    c([1, 20, 30, 4]), c([20, 30]), c([[1, 2], [3, 4], [5, 6], [7, 8]]),
    c([[1, 2], [3, 4]]), c([1, 4, 20, 30], **BACK), c([20, 30], **BACK),
    c([1, 2, 3, 4, 5], **VOLUMES), c([2, 3, 4], **VOLUMES),
    c([[1, 2], [3, 4], [5, 6]], **VOLUMES),
    c([2, 3], src_format="WHCN", dst_format="NHWC"),
    c([1, 2, 3, 4], src_format="ABCD", dst_format="DBAC"),
    bad(1), bad([1, 2, 3]), bad([1, 2, 3, 4], **VOLUMES),
    bad([[1, 2], [3, 4], [5, 6]]), bad([[1, 2, 3]] * 4), bad([[[1], [2]]] * 4),
    bad([1, 2], src_format="ABCD", dst_format="BACD"),
    bad([1, 2, 3], src_format="ABCDE", dst_format="BACDE"), bad(x(0))] + [
    bad([0, 1, 2, 3], **attrs) for attrs in WRONG])
