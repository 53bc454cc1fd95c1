"""Sizes of rows that several families have in common."""


# Rows of what a warp keeps, a block, and longer; of whole packs and not.
LONG = [(3, 16), (9, 3), (2, 600), (3, 2064), (2, 4100), (1, 4101)]
# Rows that begin anywhere within 16 bytes; of more than a block has at once.
UNEVEN = [(5, 7), (9, 17), (17, 31), (9, 33), (3, 1000), (9, 1001), (9, 4099),
          (3, 20001)]
MANY = [(600, 1), (700, 3), (600, 5), (150, 33)]
