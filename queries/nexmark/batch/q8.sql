SELECT DISTINCT P.id, P.name, TIME_BUCKET(INTERVAL '10 seconds', P.dateTime)
FROM person P
JOIN auction A
ON P.id = A.seller
    AND TIME_BUCKET(INTERVAL '10 seconds', P.dateTime) = TIME_BUCKET(INTERVAL '10 seconds', A.dateTime)
