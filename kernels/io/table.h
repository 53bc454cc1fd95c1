/*
 * table.h - the bytes of a sorted table, LevelDB's file format, which the index
 * of a checkpoint (V2) and a whole checkpoint (V1) are.
 *
 *   file    data block*, metaindex block (empty), index block, footer
 *   block   entry*, u32 offset of each restart, u32 count of them
 *           then the trailer: u8 type (0 as it is, 1 Snappy),
 *                             u32 masked CRC-32C of the block and the type
 *   entry   varint32 shared, varint32 unshared, varint32 size of value,
 *           the key's last `unshared` bytes, value
 *   handle  varint64 offset, varint64 size (of a block, without trailer)
 *   footer  handle of metaindex, handle of index, zeros up to 40 bytes,
 *           u64 db4775248b80fb57
 *
 * Integers are little-endian, keys ascend bytewise.  A key leaves out what it
 * shares with the one before it; at a restart, every 16 entries, it is whole.
 * The index has an entry for each data block: a key not below its last and
 * below the next one's first, and its handle; all of its entries are restarts.
 *
 * Threads: macros and constants only.
 */
#ifndef TFD_KERNELS_TABLE_H
#define TFD_KERNELS_TABLE_H

#define TFD_TABLE_MAGIC 0xdb4775248b80fb57u
#define TFD_TABLE_FOOTER_SIZE 48
#define TFD_TABLE_TRAILER_SIZE 5
#define TFD_TABLE_RESTART_INTERVAL 16
#define TFD_TABLE_BLOCK_TARGET 262144 /* TensorFlow's */

enum tfd_table_compression { TFD_TABLE_RAW = 0, TFD_TABLE_SNAPPY = 1 };

#endif
