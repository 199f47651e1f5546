SELECT auction, bidder, price, dateTime, extra, STRFTIME(dateTime, '%Y-%m-%d'), STRFTIME(dateTime, '%H:%M') FROM bid
