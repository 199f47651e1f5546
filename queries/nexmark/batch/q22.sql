SELECT
    auction, bidder, price, channel,
    STRING_SPLIT(url, '/')[3 + 1] AS dir1,
    STRING_SPLIT(url, '/')[4 + 1] AS dir2,
    STRING_SPLIT(url, '/')[5 + 1] AS dir3
FROM bid
