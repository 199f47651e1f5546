"""The wire format: frames and datagrams as bytes, and back.

    Frame | Datagram --codec--> parts --seal--> parts, as the transport sends them

A *part* is a run of bytes; a transport carries a list of them as one.  `codec` writes items with
msgspec and columns (`batches`) as they lie in memory: small ones one behind the other in the first
part, large ones as parts of their own that nobody copies.  `seal` puts in front what says whose it
is, which version of the format it has, and hashes of everything.

Nothing that comes is believed: the seal is checked before anything is decoded, every length before
it is used, every column before it is handed on.  What does not hold is a `WireError`, and the frame
is as good as lost.
"""
