"""The wire format: frames and datagrams as bytes, and back.

    Frame | Datagram --codec--> parts --seal--> parts, as the transport sends them

A *part* is a sequence of bytes; a transport carries a list of parts as one message.  `codec` encodes items
with msgspec, and columns (`batches`) in their memory layout: small buffers one after the other in the first
part, each large one as a separate part, without a copy.  `seal` adds a header with the sender, the version of
the format, and hashes of everything.

No input is trusted: the seal is checked before anything is decoded, each length before it is used, each
column before it is passed on.  A check that fails raises `WireError`, and the frame is dropped.
"""
